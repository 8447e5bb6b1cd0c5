"""Shows and changes what a crawl knows, and runs its workers."""

from newsbot.config.apps import App

APP = App(
    name="operations",
    package="newsbot.apps.operations",
    needs=("progress",),
    commands={
        "workers": (
            "Crawl",
            "Run several crawl workers on this machine, and restart those that fail",
            "newsbot.apps.operations.workers:ACTIONS",
        ),
        "add": (
            "Crawl",
            "Queue URLs that are fetched next, even while a crawl is running",
            "newsbot.apps.operations.add:ACTIONS",
        ),
        "why": (
            "Look after",
            "Explain what happened to one URL, and why",
            "newsbot.apps.operations.explain:ACTIONS",
        ),
        "sources": (
            "Look after",
            "Show the state of sites and their feeds, sitemaps and sections",
            "newsbot.apps.operations.sources:ACTIONS",
        ),
        "remove": (
            "Look after",
            "Delete all data of a URL or a domain, and block it",
            "newsbot.apps.operations.remove:ACTIONS",
        ),
        "prune": (
            "Look after",
            "Delete data that are older than the settings allow",
            "newsbot.apps.operations.remove:PRUNING",
        ),
        "completion": (
            "More",
            "Print a script that completes commands and options in a shell",
            "newsbot.apps.operations.completion:ACTIONS",
        ),
    },
)
