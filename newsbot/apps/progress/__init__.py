"""Shows the state of a crawl while it runs and at its end.

* ``display``: a live display on a terminal, or log lines; the stats as a file for other programs
* ``summary``: totals, rates and a row for each site, from the stats of a crawl, and the table at its end
"""

from newsbot.config.apps import App

APP = App(
    name="progress",
    package="newsbot.apps.progress",
    settings=True,
    components={
        "EXTENSIONS": {
            "newsbot.apps.progress.display.Progress": 500,
            "newsbot.apps.progress.summary.Summary": 510,
            "newsbot.apps.progress.display.StatsFile": 520,
        }
    },
)
