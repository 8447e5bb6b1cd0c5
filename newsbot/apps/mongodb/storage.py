"""Opens the storage in MongoDB, and creates and upgrades the collections.

Comments give the reason for each index. Every value that must be unique is an ``_id``. For pages, articles
and aliases, the ``_id`` is the fingerprint of the URL. For texts, it is the site and the hash of the text. A
sharded collection can have a unique index only on the shard key. These collections can be sharded by ``_id``,
because they have no other unique value. Use hashed sharding for all collections except ``versions``. Shard
``versions`` by ranges, so that the versions of an article are stored together. docs/operations.md has the
commands.

| collection | ``_id`` | content of a document |
|---|---|---|
| schema | component | the version of the collections |
| pages | fingerprint | a URL that was seen: the crawl database |
| articles | fingerprint of the canonical URL | the current version of an article |
| versions | fingerprint and number | an earlier version of an article in full |
| texts | site and hash of the text | a text that an article of the site has or once had (its hash only) |
| aliases | fingerprint | another URL that returned the text of an article |
| sources | URL | a feed, sitemap or section page |
| sites | domain | the counters of a site |
| search_results | search, text, fingerprint | a result of a search on a page (see the app monitor) |
| notes | kind and key | a note of a part of newsbot (see newsbot/storage/notes.py) |
| joined | story | the story into which a former story was joined (see stories.py) |
| page_checks | fingerprint | the last checks of a page (see the app monitor) |
| site_hours | site and hour | the counters of a site in one hour (see newsbot/storage/base.py) |
| waiting_links | fingerprint | a link that waits until its family is open (see newsbot/storage/base.py) |
| removals | fingerprint | the removal of an article, and the number of that change (see articles.py) |
| counters | name | the last number of a sequence |
| polls | URL and day | the polls of a source on one day (see newsbot/storage/base.py) |

Articles are deleted in transactions. If another worker writes an article at the same time, either the data
that it writes are deleted too, or it stores a new article after the removal. An article is never deleted only
in part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError, OperationFailure

from newsbot.apps.mongodb import articles
from newsbot.apps.mongodb.articles import MongoArticles, MongoStories, MongoTexts, texts_had
from newsbot.apps.mongodb.client import (
    Collections,
    Document,
    Place,
    Repository,
    Server,
    Session,
    all_versions,
    connect,
    micros,
    strings,
)
from newsbot.apps.mongodb.pages import MongoPages, MongoWaitingLinks
from newsbot.apps.mongodb.sources import MongoActivity, MongoNotes, MongoSites, MongoSources
from newsbot.errors import DataError, SchemaError
from newsbot.items import batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import Removal, Storage
from newsbot.urls import fingerprint

COMPONENT = "storage"
_OLDEST_WIRE = 13  # MongoDB 5.0
_NAMESPACE_EXISTS = 48
Migration = Callable[[Collections], None]
_PACKED = {"wiredTiger": {"configString": "block_compressor=zstd"}}
"""Options for compression with zstd. Documents take a third less space than with snappy, MongoDB's
default."""


def _index(*fields: str, only: Document | None = None) -> IndexModel:
    """Return an index on fields. ``-`` before a field means descending order.

    ``only`` is the condition on the documents that are in the index; None means all documents.
    """
    keys = [(name.removeprefix("-"), DESCENDING if name.startswith("-") else ASCENDING) for name in fields]
    return IndexModel(keys, **({} if only is None else {"partialFilterExpression": only}))


_COLLECTIONS: dict[str, tuple[IndexModel, ...]] = {
    "pages": (
        _index("source", "_id"),  # to stream the pages of a site
        # For a frontier that holds only pages that are due soon.
        _index("next_due", "_id", only={"next_due": {"$gt": 0}}),
        _index("added"),  # to compare a queue that has lost its last writes
    ),
    "articles": (
        # To stream and count all articles, or the articles of one site, without reading documents.
        _index("fetched", "_id"),
        _index("source", "fetched", "_id"),
        # For the articles of a period, and for the newest articles of a site or language.
        _index("-moment", "-_id"),
        _index("source", "-moment", "-_id"),
        _index("language", "-moment", "-_id"),
        # For the members of a story and for the newest stories, without reading articles.
        _index("story", "moment", only={"story": {"$type": "string"}}),
        # For the removal of an article.
        _index("duplicate_of", only={"duplicate_of": {"$type": "string"}}),
        _index("derived_from", only={"derived_from": {"$type": "string"}}),
        _index(articles.NUMBER),
        _index("form", "source", "moment", only={"form": "post"}),  # to count posts
    ),
    "versions": (),
    "texts": (),
    "aliases": (_index("article"),),  # for the removal of an article
    # To count sources, and to read a few of them.
    "sources": (
        _index("source", "_id"),
        _index("source", "kind", "failures"),
        _index("failures", "source"),
        _index("next_due", "failures"),
        _index("silent", "source", only={"silent": True}),
    ),
    "sites": (),
    # To stream the results of a search, and for the removal of a page.
    "search_results": (_index("search", "_id"), _index("page")),
    "notes": (_index("kind", "_id"),),  # to read the notes of a kind
    "joined": (_index("into"),),  # for the redirects to a story
    "polls": (_index("url", "day"),),  # for the polls of a source by day
    "page_checks": (_index("source", "_id"),),  # to stream the checked pages of a site
    # For the hours of a site, and for the trends of all sites.
    "site_hours": (_index("source", "hour"), _index("hour", "source")),
    "removals": (_index(articles.NUMBER),),
    "counters": (),
    # For the links of a family, and to drop the oldest of them.
    "waiting_links": (_index("source", "family", "-at"),),
}


def _indexes(**collections: tuple[IndexModel, ...]) -> Migration:
    """Return a migration that creates these collections if they do not exist, and their indexes."""

    def migrate(database: Collections) -> None:
        for name, indexes in collections.items():
            _make(database, name)
            if indexes:
                database[name].create_indexes(list(indexes))

    return migrate


def _make(database: Collections, name: str) -> None:
    """Create a collection if it does not exist."""
    attempts: list[Document] = [{"storageEngine": _PACKED}, {}]  # some hosted servers refuse the option
    for options in attempts:
        try:
            database.command("create", name, **options)
        except OperationFailure as error:
            if error.code == _NAMESPACE_EXISTS:
                return
            if not options:
                raise
        else:
            return


MIGRATIONS: dict[int, Migration] = {20: _indexes(**_COLLECTIONS)}
"""``MIGRATIONS[n]`` upgrades version n - 1 to n; the first one makes all collections. Never change a released
function. Add new functions at the end.

Each function must be idempotent, because several workers may run it at the same time when they start.
"""


def prepare(place: Place) -> None:
    """Create the collections, or upgrade them to the newest version.

    Raises :class:`SchemaError` if a newer newsbot or another program created the collections. Raises
    :class:`DataError` if the server is not a replica set, or if its version is too old.
    """
    _check_server(place)
    database = place.database
    version = _version(database)
    oldest, newest = min(MIGRATIONS), max(MIGRATIONS)
    if version is None:
        _refuse_foreign(place)
    elif version > newest:
        raise SchemaError(
            f"{place.name}: {COMPONENT} was written by a newer newsbot (format {version}; this version knows "
            f"formats up to {newest}); upgrade newsbot or name another database in MONGO_URI"
        )
    elif version < oldest:
        raise SchemaError(
            f"{place.name}: {COMPONENT} was written by a build before the first release (format {version}; "
            f"this version knows formats from {oldest} on); name another database in MONGO_URI"
        )
    for number in sorted(MIGRATIONS):
        if number > (version or 0):
            MIGRATIONS[number](database)
            _note(database, number)


def _check_server(place: Place) -> None:
    hello = place.client.admin.command("hello")
    if "setName" not in hello and hello.get("msg") != "isdbgrid":
        raise DataError(
            f"{place.name}: is a single server; newsbot needs a replica set, which may have one member: "
            "start mongod with --replSet rs0 and run rs.initiate() once in mongosh"
        )
    if hello["maxWireVersion"] < _OLDEST_WIRE:
        raise DataError(f"{place.name}: this MongoDB is too old; newsbot needs 5.0 or newer")


def _version(database: Collections) -> int | None:
    kept = database["schema"].find_one({"_id": COMPONENT})
    return None if kept is None else int(kept["version"])


def _refuse_foreign(place: Place) -> None:
    """Raise an error if the collections belong to another program."""
    database = place.database
    taken = [name for name in _COLLECTIONS if database[name].find_one({}, {"_id": 1}) is not None]
    if taken and _version(database) is None:  # otherwise another worker has just created them
        raise SchemaError(
            f"{place.name}: contains data of another program ({', '.join(taken)}); name another database in "
            "MONGO_URI"
        )


def _note(database: Collections, version: int) -> None:
    try:
        database["schema"].update_one(
            {"_id": COMPONENT, "version": {"$not": {"$gte": version}}},
            {"$set": {"version": version}},
            upsert=True,
        )
    except DuplicateKeyError:  # another worker has stored this version or a later one
        return


_AT_ONCE = 50
"""Maximum number of articles that one transaction deletes. The transaction must be short, because other
writers of these articles wait for it."""
_OF_AN_ARTICLE = {"canonical_url": 1, "source": 1, "content_hash": 1, "version": 1}


class MongoRemoval(Repository, Removal):
    """:class:`newsbot.storage.base.Removal` in MongoDB."""

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        leading = {"article": {"$in": [fingerprint(clean(url)) for url in canonical_urls]}}
        urls = {one["_id"]: str(one["url"]) for one in self.database["aliases"].find(leading)}
        for one in self.database["articles"].find({"_id": {"$in": list(urls)}}, {"_id": 1}):
            del urls[one["_id"]]  # the alias has become an article, so it is no longer an alias
        return list(urls.values())

    def articles(self, canonical_urls: Sequence[str]) -> int:
        urls = [clean(url) for url in dict.fromkeys(canonical_urls)]
        keys = [fingerprint(url) for url in urls]
        # This is done before the removal. If the removal fails, the call can be repeated.
        these = strings(*urls)
        self.database["articles"].update_many({"duplicate_of": these}, {"$set": {"duplicate_of": None}})
        self.database["articles"].update_many({"derived_from": these}, {"$pull": {"derived_from": these}})
        return sum(
            self.server.transact(partial(_remove_articles, self.database, some))
            for some in batched(keys, _AT_ONCE)
        )

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        keys = {"$in": list(dict.fromkeys(fingerprints))}
        return self.database["pages"].delete_many({"_id": keys}).deleted_count

    def sources(self, urls: Sequence[str]) -> int:
        given = {"$in": [clean(url) for url in urls]}
        self.database["polls"].delete_many({"url": given})
        return self.database["sources"].delete_many({"_id": given}).deleted_count

    def site(self, site: str) -> None:
        self.database["sites"].delete_one({"_id": clean(site)})
        self.database["site_hours"].delete_many({"source": clean(site)})

    def old_versions(self, before: datetime) -> int:
        return self.database["versions"].count_documents(_fetched_before(before))

    def drop_versions(self, before: datetime, limit: int) -> int:
        found = self.database["versions"].find(_fetched_before(before), {"_id": 1}).limit(limit)
        keys = [one["_id"] for one in found]
        return self.database["versions"].delete_many({"_id": {"$in": keys}}).deleted_count

    def old_pages(self, before: float) -> int:
        return self.database["pages"].count_documents(_slimmable(before))

    def slim_pages(self, before: float, limit: int) -> int:
        less = {"$set": {"history": [], "referrers": []}, "$unset": {"referrer_bits": ""}}
        pages = self.database["pages"]
        # The update checks the condition again: the page may have been fetched in the meantime.
        keys = [one["_id"] for one in pages.find(_slimmable(before), {"_id": 1}).limit(limit)]
        return pages.update_many({"_id": {"$in": keys}, **_slimmable(before)}, less).modified_count


def _remove_articles(database: Collections, given: Sequence[bytes], session: Session) -> int:
    """Delete the articles with these keys in a transaction. Return the number of deleted articles."""
    asked = {"_id": {"$in": list(given)}}
    found = list(database["articles"].find(asked, _OF_AN_ARTICLE, session=session))
    keys = [one["_id"] for one in found]
    # If a URL is an alias of another article, which stays, only the alias is deleted.
    leading = {"$or": [asked, {"article": {"$in": keys}}]}
    database["aliases"].delete_many(leading, session=session)
    if not found:
        return 0
    texts: list[str] = []
    for one in found:
        versions = all_versions(one["_id"])
        kept = list(database["versions"].find(versions, {"content_hash": 1}, session=session))
        texts += texts_had(database, session, one, kept)
        database["versions"].delete_many(versions, session=session)
    database["texts"].delete_many({"_id": {"$in": texts}, "article": {"$in": keys}}, session=session)
    articles.note_removed(database, keys, session)
    return database["articles"].delete_many({"_id": {"$in": keys}}, session=session).deleted_count


def _fetched_before(before: datetime) -> Document:
    return {"fetched": {"$lt": micros(before)}}


def _slimmable(before: float) -> Document:
    """Return the query for old page records that still have history or referrers."""
    old = {"$lt": [{"$ifNull": ["$last_fetched", "$first_seen"]}, before]}
    # "history.0" exists if the list is not empty
    large = [{"history.0": {"$exists": True}}, {"referrers.0": {"$exists": True}}]
    return {"next_due": None, "$expr": old, "$or": large}


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
