"""Articles from files of others: WARC, CC-NEWS among them."""

from newsbot.operations.importing.importer import HEADINGS, Importer, Progress

__all__ = ["HEADINGS", "Importer", "Progress"]
