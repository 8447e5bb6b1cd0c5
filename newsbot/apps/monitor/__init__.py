"""Reports on the availability and the structure of sites, from the checks of ``scrapy crawl monitor``.

Files in reading order:

* ``results``: the stored checks and results of searches, their interfaces, the last report of each site, and
  what is deleted with removed pages
* ``results_sqlite``, ``results_mongodb``: these interfaces for each backend
* ``page_check``: how one page is checked, what its responses mean, what changed since an earlier run, and the
  faults in its markup
* ``report``: the report on one site, from all its pages, with sections, links and folders, as JSON and HTML;
  ``scrapy monitor`` and ``scrapy searches``
* ``side_spiders``: the base of spiders that run beside a news crawl, and their scheduler
* ``spiders``: the spiders ``monitor`` and ``search``
"""

from newsbot.config.apps import App

APP = App(
    name="monitor",
    package="newsbot.apps.monitor",
    needs=("operations", "search"),
    commands={
        "searches": (
            "Read",
            "List, show and delete the results of the spider search",
            "newsbot.apps.monitor.report:SEARCHES",
        ),
        "monitor": (
            "Look after",
            "Show what the spider monitor found: broken links, changes, structure",
            "newsbot.apps.monitor.report:SITES",
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
