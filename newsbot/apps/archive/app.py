"""WARC files: writes what a crawl fetched, imports files of other programs, and reads web archives."""

from newsbot.config.apps import App, Owner

APP = App(
    name="archive",
    package="newsbot.apps.archive",
    needs=("operations",),
    commands={
        "backfill": (
            "Crawl",
            "Collect the older articles of a site, also from web archives",
            "newsbot.apps.archive.backfill:ACTIONS",
        ),
    },
    settings=True,
    components={
        "DOWNLOADER_MIDDLEWARES": {
            "newsbot.apps.archive.middleware.WireMiddleware": 900,
        },
        "SPIDER_MIDDLEWARES": {
            "newsbot.apps.archive.middleware.ArchiveMiddleware": 400,
        },
        "EXTENSIONS": {"newsbot.apps.archive.media.MediaFiles": 540},
    },
    checks=("newsbot.apps.archive.middleware:check",),
    pages=("newsbot.apps.archive.pages:add",),
    notes={"backfill:": Owner.SITE_IN_KIND},
    pruning={"raw": "newsbot.apps.archive.middleware:prune"},
)
