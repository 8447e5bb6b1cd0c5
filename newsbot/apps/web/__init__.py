"""The server of ``scrapy serve``: the dashboard, and the receiver of push notices.

A push notice is a message that a page has changed. The server uses aiohttp, which Scrapy also needs.

Files in reading order:

* ``service``: runs the process: opens the data, serves requests, and runs regular tasks
* ``push``: receives notices, queues the pages that trusted notices name, and subscribes to hubs
* ``http``: limits of incoming requests, and the client for requests that notices cause
* ``dashboard``: serves the pages, the API and the metrics
* ``readers``: threads that read the data for the dashboard, and a cache of expensive figures
"""

from newsbot.config.apps import App

APP = App(
    name="web",
    package="newsbot.apps.web",
    needs=(
        "alerts",
        "authoring",
        "export",
        "followers",
        "monitor",
        "operations",
        "progress",
        "push",
        "search",
        "signatures",
        "team",
    ),
    commands={
        "serve": (
            "Read",
            "Serve the dashboard and the HTTP API, and receive notices of changed pages",
            "newsbot.apps.web.service:ACTIONS",
        ),
    },
    settings=True,
)
