"""Shows and changes what a crawl knows, and runs its workers. Other apps use some of its functions.

An action is a function that reads the options, does the work and prints the result. ``ACTIONS`` at the end of
a module declares the command and its options.

* ``add``: queues URLs, also of families, which it shows, opens and resets
* ``remove``: removes URLs and domains (``scrapy remove``) and old data (``scrapy prune``)
* ``articles``: finds and shows articles
* ``explain``: explains one URL (``scrapy why``)
* ``verdict``: decides in one place whether the whole crawl works
* ``sources``: reports on sites and their sources
* ``notifier_trust``: measures how reliable each sender of push notices is, and limits the fetches that
  notices cause
* ``completion``: prints a script that completes commands and options in a shell
* ``workers``: runs several crawl workers, and restarts those that fail
"""

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
