"""Storage in MongoDB (a replica set or a sharded cluster): any number of workers share it.

A write is acknowledged when a majority has it in its journal, and is idempotent: calling again after a fault
does no harm. Only this package and ``newsbot.connections.mongo`` import pymongo.
"""

from __future__ import annotations

from newsbot.connections.mongo import connect
from newsbot.storage.base import Storage
from newsbot.storage.mongo.articles import MongoArticles
from newsbot.storage.mongo.connection import Server
from newsbot.storage.mongo.copying import MongoDump, MongoLoad
from newsbot.storage.mongo.notes import MongoNotes
from newsbot.storage.mongo.pages import MongoPages
from newsbot.storage.mongo.removal import MongoRemoval
from newsbot.storage.mongo.schema import prepare
from newsbot.storage.mongo.sources import MongoActivity, MongoSites, MongoSources
from newsbot.storage.mongo.spider_results import MongoChecks, MongoSearches
from newsbot.storage.mongo.stories import MongoStories
from newsbot.storage.mongo.words import MongoTexts

__all__ = ["MongoStorage"]


class MongoStorage(Storage):
    """Opens the database that ``database`` or else the URI names (``newsbot`` if neither does).

    ``hurried``: an answer that takes longer than a few seconds is a fault (the caller tries again). Raises
    :class:`newsbot.errors.DataError` kinds, in one line without credentials.
    """

    place = "MongoDB"
    is_local = False

    def __init__(self, uri: str, *, database: str | None = None, hurried: bool = False) -> None:
        self.server = server = Server(connect(uri, database, hurried=hurried))
        try:
            with server.readable():
                prepare(server.at)
        except BaseException:
            server.at.client.close()
            raise
        texts = MongoTexts(server)
        self.pages = MongoPages(server)
        self.articles = MongoArticles(server, texts.stored)
        self.texts = texts
        self.stories = MongoStories(server)
        self.sources = MongoSources(server)
        self.sites = MongoSites(server)
        self.activity = MongoActivity(server)
        self.notes = MongoNotes(server)
        self.checks = MongoChecks(server)
        self.searches = MongoSearches(server)
        self.removal = MongoRemoval(server)
        self.dump = MongoDump(server)
        self.load = MongoLoad(server, texts.stored)
        self._close_texts = texts.close

    def close(self) -> None:
        self._close_texts()
        self.server.at.client.close()
