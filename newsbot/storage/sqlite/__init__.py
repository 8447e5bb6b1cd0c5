"""Stores data in the embedded data file (SQLite with write-ahead log), which several processes can share.

Each write is one transaction. It is stored completely or not at all, even if the disk is full or the process
is killed.
"""

from __future__ import annotations

from pathlib import Path

from newsbot.storage.base import Storage
from newsbot.storage.sqlite.articles import SqliteArticles, SqliteRemoval, SqliteStories, SqliteTexts
from newsbot.storage.sqlite.connection import DataFile
from newsbot.storage.sqlite.pages import SqlitePages, SqliteWaitingLinks
from newsbot.storage.sqlite.sources import SqliteActivity, SqliteNotes, SqliteSites, SqliteSources

__all__ = ["SqliteStorage"]


class SqliteStorage(Storage):
    """A storage in the file at ``path``, which is created if it is missing.

    Raises subclasses of :class:`newsbot.errors.DataError` if the file cannot be used.
    """

    place = "data file"
    is_local = True

    def __init__(self, path: Path) -> None:
        self.handle = file = DataFile(path)
        self.pages = SqlitePages(file)
        self.articles = SqliteArticles(file)
        self.texts = SqliteTexts(file)
        self.stories = SqliteStories(file)
        self.sources = SqliteSources(file)
        self.sites = SqliteSites(file)
        self.activity = SqliteActivity(file)
        self.notes = SqliteNotes(file)
        self.waiting = SqliteWaitingLinks(file)
        self.removal = SqliteRemoval(file)

    def interrupt(self) -> None:
        self.handle.database.interrupt()

    def close(self) -> None:
        self.handle.database.close()
