"""Opens the storage in MongoDB."""

from __future__ import annotations

from newsbot.apps.mongodb.articles import MongoArticles, MongoTexts
from newsbot.apps.mongodb.client import connect
from newsbot.apps.mongodb.connection import Server
from newsbot.apps.mongodb.notes import MongoNotes
from newsbot.apps.mongodb.pages import MongoPages
from newsbot.apps.mongodb.removal import MongoRemoval
from newsbot.apps.mongodb.schema import prepare
from newsbot.apps.mongodb.sources import MongoActivity, MongoSites, MongoSources
from newsbot.apps.mongodb.stories import MongoStories
from newsbot.apps.mongodb.waiting import MongoWaitingLinks
from newsbot.storage.base import Storage


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
        self.handle = server = Server(connect(uri, database, hurried=hurried), stale=stale)
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
        self.removal = MongoRemoval(server)

    def close(self) -> None:
        self.handle.at.client.close()
