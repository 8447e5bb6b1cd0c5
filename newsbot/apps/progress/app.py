"""Shows the progress of a crawl and its results."""

from newsbot.config.apps import App

APP = App(
    name="progress",
    package="newsbot.apps.progress",
    settings=True,
    components={
        "EXTENSIONS": {
            "newsbot.apps.progress.display.Progress": 500,
            "newsbot.apps.progress.summary.Summary": 510,
            "newsbot.apps.progress.statsfile.StatsFile": 520,
        }
    },
)
