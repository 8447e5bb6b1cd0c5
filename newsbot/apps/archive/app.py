"""WARC files: writes what a crawl fetched, and imports files of other programs."""

from newsbot.config.apps import App

APP = App(
    name="archive",
    package="newsbot.apps.archive",
    settings=True,
    components={
        "DOWNLOADER_MIDDLEWARES": {
            "newsbot.apps.archive.middleware.WireMiddleware": 900,
        },
        "SPIDER_MIDDLEWARES": {
            "newsbot.apps.archive.middleware.ArchiveMiddleware": 400,
        },
    },
    checks=("newsbot.apps.archive.recording:check",),
    pruning={"raw": "newsbot.apps.archive.recording:prune"},
)
