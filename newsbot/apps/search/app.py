"""Full-text search in stored articles."""

from newsbot.config.apps import App, Owner

APP = App(
    name="search",
    package="newsbot.apps.search",
    needs=("followers", "operations"),
    machine_followers=("newsbot.apps.search.articles:machine_followers",),
    signs=("newsbot.apps.search.articles:signs",),
    labels={"form": "newsbot.apps.search.labels:FormField"},
    notes={"usefulness": Owner.SITE},
    commands={
        "search": ("Read", "Find articles", "newsbot.apps.search.command:SEARCH"),
        "articles": (
            "Read",
            "Find, read, export and import articles",
            "newsbot.apps.search.command:ARTICLES",
        ),
    },
)
