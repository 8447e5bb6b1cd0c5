"""Articles from files of others: WARC, CC-NEWS among them.

* ``importer``: brings archived pages through the same pipelines as fetched ones
"""

from newsbot.operations.importing.importer import HEADINGS, Importer, Progress

__all__ = ["HEADINGS", "Importer", "Progress"]
