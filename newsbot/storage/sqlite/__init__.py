"""Storage in the embedded data file (SQLite, WAL): several processes may share it.

A write is one transaction: all of it or nothing, also when the disk is full or the process is killed.
"""

from __future__ import annotations

from pathlib import Path

from newsbot.storage.base import Storage
from newsbot.storage.sqlite.articles import SqliteArticles
from newsbot.storage.sqlite.connection import DataFile
from newsbot.storage.sqlite.copying import SqliteDump, SqliteLoad
from newsbot.storage.sqlite.notes import SqliteNotes
from newsbot.storage.sqlite.pages import SqlitePages
from newsbot.storage.sqlite.removal import SqliteRemoval
from newsbot.storage.sqlite.sources import SqliteActivity, SqliteSites, SqliteSources
from newsbot.storage.sqlite.spider_results import SqliteChecks, SqliteSearches
from newsbot.storage.sqlite.stories import SqliteStories
from newsbot.storage.sqlite.words import SqliteTexts

__all__ = ["SqliteStorage"]


class SqliteStorage(Storage):
    """Opens the file at ``path`` (made if missing). Raises :class:`newsbot.errors.DataError` kinds."""

    place = "data file"
    is_local = True

    def __init__(self, path: Path) -> None:
        self.file = file = DataFile(path)
        texts = SqliteTexts(file)
        self.pages = SqlitePages(file)
        self.articles = SqliteArticles(file, texts.stored)
        self.texts = texts
        self.stories = SqliteStories(file)
        self.sources = SqliteSources(file)
        self.sites = SqliteSites(file)
        self.activity = SqliteActivity(file)
        self.notes = SqliteNotes(file)
        self.checks = SqliteChecks(file)
        self.searches = SqliteSearches(file)
        self.removal = SqliteRemoval(file)
        self.dump = SqliteDump(file)
        self.load = SqliteLoad(file, texts.stored)
        self._close_texts = texts.close

    def interrupt(self) -> None:
        self.file.database.interrupt()

    def close(self) -> None:
        self._close_texts()
        self.file.database.close()
