"""The dashboard, the HTTP API and the receiver of push notices."""

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
