"""Exports articles as files (JSON lines, CSV, Parquet, WARC, WACZ) or as a feed, and sites as OPML.

Files in reading order:

* ``formats``: the file formats and their writers, also for web archives with the archived pages of articles,
  Atom and RSS feeds, and the feeds of all sites as OPML
* ``parquet``: the writer for Apache Parquet
* ``command``: ``scrapy articles export``, also what continues an earlier export, and ``feed``
"""

from newsbot.config.apps import App

APP = App(
    name="export",
    package="newsbot.apps.export",
    needs=("archive", "operations", "search"),
    # The files of ``scrapy crawl news -O FILE.csv`` then have no formulas.
    components={"FEED_EXPORTERS": {"csv": "newsbot.apps.export.formats.CsvFeedExporter"}},
)
