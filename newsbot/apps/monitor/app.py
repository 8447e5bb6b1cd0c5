"""Checks of sites, and the search for texts on the pages of sites."""

from newsbot.config.apps import App

APP = App(
    name="monitor",
    package="newsbot.apps.monitor",
    needs=("operations", "search"),
    commands={
        "searches": (
            "Read",
            "List, show and delete the results of the spider search",
            "newsbot.apps.monitor.command:SEARCHES",
        ),
        "monitor": (
            "Look after",
            "Show what the spider monitor found: broken links, changes, structure",
            "newsbot.apps.monitor.command:SITES",
        ),
    },
    spiders="newsbot.apps.monitor.spiders",
    repositories={
        "search results": {
            "data file": "newsbot.apps.monitor.results_sqlite:SqliteSearches",
            "MongoDB": "newsbot.apps.monitor.results_mongodb:MongoSearches",
        },
        "checks": {
            "data file": "newsbot.apps.monitor.results_sqlite:SqliteChecks",
            "MongoDB": "newsbot.apps.monitor.results_mongodb:MongoChecks",
        },
    },
    removal=("newsbot.apps.monitor.results:forget",),
)
