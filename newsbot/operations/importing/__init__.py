"""Imports articles from WARC files of other crawlers, such as CC-NEWS.

* ``importer``: sends archived pages through the pipelines of the crawl
"""

from newsbot.operations.importing.importer import HEADINGS, Importer, Progress

__all__ = ["HEADINGS", "Importer", "Progress"]
