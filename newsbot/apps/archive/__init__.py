"""Writes WARC files that survive crashes, and reads WARC files of other programs (WARC 1.1, ISO 28500:2017).

Files in reading order:

* ``writer``: builds records as bytes, and writes them into a folder of files; the index of archived pages,
  and copies of finished files in an object store
* ``reader``: reads files of other programs, with limits
* ``middleware``: the archive of a crawl: writes its exchanges in a thread, and deletes old files; pictures,
  audio and video of articles
* ``command``: ``scrapy articles show``, also with the archived page
* ``pages``: the archived page in the dashboard
* ``importing``: imports articles from WARC files; ``scrapy backfill``: the older articles of a site
* ``cdx``: reads files over HTTP, the file lists of CC-NEWS, and the indexes and pages of web archives
"""

from newsbot.config.apps import App, Owner

APP = App(
    name="archive",
    package="newsbot.apps.archive",
    needs=("operations",),
    commands={
        "backfill": (
            "Crawl",
            "Collect the older articles of a site, also from web archives",
            "newsbot.apps.archive.importing:ACTIONS",
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
        "EXTENSIONS": {"newsbot.apps.archive.middleware.MediaFiles": 540},
    },
    checks=("newsbot.apps.archive.middleware:check",),
    pages=("newsbot.apps.archive.pages:add",),
    notes={"backfill:": Owner.SITE_IN_KIND},
    pruning={"raw": "newsbot.apps.archive.middleware:prune"},
)
