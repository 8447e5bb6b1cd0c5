"""Stores data in MongoDB (a replica set or a sharded cluster), which any number of workers can share.

A write is acknowledged when a majority of the members has written it to the journal. Writes are idempotent
and can be repeated after an error. Only this package and ``newsbot.connections.mongo`` import pymongo.
"""

from __future__ import annotations

from newsbot.connections.mongo import connect
from newsbot.storage.base import Storage
from newsbot.storage.mongo.articles import MongoArticles, MongoTexts
from newsbot.storage.mongo.connection import Server
from newsbot.storage.mongo.copying import MongoDump, MongoLoad
from newsbot.storage.mongo.notes import MongoNotes
from newsbot.storage.mongo.pages import MongoPages
from newsbot.storage.mongo.removal import MongoRemoval
from newsbot.storage.mongo.schema import prepare
from newsbot.storage.mongo.sources import MongoActivity, MongoSites, MongoSources
from newsbot.storage.mongo.spider_results import MongoChecks, MongoSearches
from newsbot.storage.mongo.stories import MongoStories
from newsbot.storage.mongo.waiting import MongoWaitingLinks

__all__ = ["MongoStorage"]


class MongoStorage(Storage):
    """A storage in MongoDB. The name of the database is ``database``, else the name in the URI, else
    ``newsbot``.

    With ``hurried``, a response that takes longer than a few seconds is an error, and the caller should try
    again. With ``stale``, articles and figures are read by the read preference of the URI, so they may be
    outdated. This is only for programs that show or export them. Raises subclasses of
    :class:`newsbot.errors.DataError`. Their messages have one line and contain no credentials.
    """

    place = "MongoDB"
    is_local = False

    def __init__(
        self, uri: str, *, database: str | None = None, hurried: bool = False, stale: bool = False
    ) -> None:
        self.server = server = Server(connect(uri, database, hurried=hurried), stale=stale)
        try:
            with server.readable():
                prepare(server.at)
        except BaseException:
            server.at.client.close()
            raise
        self.pages = MongoPages(server)
        self.articles = MongoArticles(server)
        self.texts = MongoTexts(server)
        self.stories = MongoStories(server)
        self.sources = MongoSources(server)
        self.sites = MongoSites(server)
        self.activity = MongoActivity(server)
        self.notes = MongoNotes(server)
        self.waiting = MongoWaitingLinks(server)
        self.checks = MongoChecks(server)
        self.searches = MongoSearches(server)
        self.removal = MongoRemoval(server)
        self.dump = MongoDump(server)
        self.load = MongoLoad(server)

    def close(self) -> None:
        self.server.at.client.close()
