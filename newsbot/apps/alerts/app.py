"""Alerts about problems of a crawl, and saved searches."""

from newsbot.config.apps import App

APP = App(
    name="alerts",
    package="newsbot.apps.alerts",
    needs=("followers", "operations", "search"),
    commands={
        "alerts": (
            "Look after",
            "Show current problems (silent sources, refusals, lag, disk), send or test alerts",
            "newsbot.apps.alerts.extension:ACTIONS",
        ),
    },
    settings=True,
    signs=("newsbot.apps.alerts.rules:signs",),
    components={
        "EXTENSIONS": {
            "newsbot.apps.alerts.extension.Alerts": 540,
        },
    },
    followers=("newsbot.apps.alerts.extension:followers",),
    checks=("newsbot.apps.alerts.extension:check",),
)
