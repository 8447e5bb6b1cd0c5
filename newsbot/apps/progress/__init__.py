"""Shows the state of a crawl while it runs and at its end.

* ``display``: totals, rates and a row for each site, from the stats of a crawl; a live display on a terminal,
  or log lines; the table at the end; the stats as a file for other programs
"""

from newsbot.config.apps import App

APP = App(
    name="progress",
    package="newsbot.apps.progress",
    settings=True,
    components={
        "EXTENSIONS": {
            "newsbot.apps.progress.display.Progress": 500,
            "newsbot.apps.progress.display.Summary": 510,
            "newsbot.apps.progress.display.StatsFile": 520,
        }
    },
)
