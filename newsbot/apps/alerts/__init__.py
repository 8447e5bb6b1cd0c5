"""Finds problems of a crawl by rules, and reports them to outputs (docs/monitoring.md).

Files in reading order:

* ``rules``: the alert rules, their thresholds and measurements; the open alerts, each with its outputs
* ``saved``: saved searches, and notices about their new articles
* ``extension``: runs rounds: measures, applies the rules, and sends the messages to the log, to a webhook, by
  e-mail, or to a command; ``scrapy alerts``, and the saved searches of ``scrapy articles``
"""

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
