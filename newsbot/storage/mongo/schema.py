"""Creates and upgrades the collections. Comments give the reason for each index.

Every value that must be unique is an ``_id``. For pages, articles and aliases, the ``_id`` is the fingerprint
of the URL. For texts, it is the site and the hash of the text. A sharded collection can have a unique index
only on the shard key. These collections can be sharded by ``_id``, because they have no other unique value.
Use hashed sharding for all collections except ``versions``. Shard ``versions`` by ranges, so that the
versions of an article are stored together. docs/operations.md has the commands.

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
| search_results | search, text, fingerprint | a result of a search on a page (see spider_results.py) |
| notes | kind and key | a note of a part of newsbot (see newsbot/storage/notes.py) |
| joined | story | the story into which a former story was joined (see stories.py) |
| page_checks | fingerprint | the last checks of a page (see spider_results.py) |
| site_hours | site and hour | the counters of a site in one hour (see newsbot/storage/sources.py) |
| waiting_links | fingerprint | a link that waits until its family is open (see newsbot/storage/waiting.py) |
| removals | fingerprint | the removal of an article, and the number of that change (see changes.py) |
| counters | name | the last number of a sequence |
| polls | URL and day | the polls of a source on one day (see newsbot/storage/sources.py) |
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from pymongo import ASCENDING, DESCENDING, IndexModel, ReadPreference
from pymongo.errors import DuplicateKeyError, OperationFailure

from newsbot.connections.mongo import Collections, Document, Place
from newsbot.errors import DataError, SchemaError
from newsbot.storage.mongo import changes
from newsbot.storage.notes import to_json

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


_FIRST: dict[str, tuple[IndexModel, ...]] = {
    "pages": (_index("source", "_id"),),  # to stream the pages of a site
    "articles": (
        # To stream and count all articles, or the articles of one site, without reading documents.
        _index("fetched", "_id"),
        _index("source", "fetched", "_id"),
        # For the articles of a period.
        _index("-moment", "-_id"),
        # For the members of a story and for the newest stories, without reading articles.
        _index("story", "moment", only={"story": {"$type": "string"}}),
    ),
    "versions": (),
    "texts": (),
    "aliases": (),
    "sources": (_index("source", "_id"),),
    "sites": (),
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


def _index_stored(database: Collections) -> None:
    """Add the index on the time at which an article was stored. Articles without this time get time 0."""
    database["articles"].update_many({"stored": {"$exists": False}}, {"$set": {"stored": 0.0}})
    database["articles"].create_indexes([_index("stored", "_id")])


def _drop_words(database: Collections) -> None:
    """Drop the collections of the former search index. The index is now a separate file
    (newsbot/apps/search)."""
    for name in ("words", "words_waiting", "words_blocks", "words_state", "words_removed"):
        database[name].drop()


def _name_several(database: Collections) -> None:
    """Convert ``derived_from`` of stored articles from a single value to a list."""
    # In a query, $type also matches lists that contain a string. The expression matches single strings only.
    one: Document = {
        "derived_from": {"$type": "string"},
        "$expr": {"$eq": [{"$type": "$derived_from"}, "string"]},
    }
    database["articles"].update_many(one, [{"$set": {"derived_from": ["$derived_from"]}}])


def _number_changes(database: Collections) -> None:
    """Number the changes of articles (see changes.py).

    Stored articles are numbered in the order in which they were stored. Earlier versions of newsbot stored a
    time for each export. The time is replaced by the cursor of that time. If the time of an export is in the
    future, the clock was wrong, and the export starts again.
    """
    for name in ("removals", "counters"):
        _make(database, name)
    articles = database["articles"]
    articles.create_indexes([_index(changes.NUMBER, "stored")])
    database["removals"].create_indexes([_index(changes.NUMBER)])
    with database.client.start_session() as session:
        numbering = partial(changes.number_some, database)
        while session.with_transaction(numbering, read_preference=ReadPreference.PRIMARY):
            pass
    for note in database["notes"].find({"kind": "export"}):
        body = json.loads(note["body"])
        for state in (body, body.get("pending")):
            if state is not None and "cursor" not in state:
                state["cursor"] = _cursor_at(database, state.get("until", 0.0))
        # The old text is part of the query, so that a note that another worker has changed is not replaced.
        changed = {"_id": note["_id"], "body": note["body"]}
        database["notes"].update_one(changed, {"$set": {"body": to_json(body)}})
    with suppress(OperationFailure):  # the index does not exist, or another worker was faster
        articles.drop_index("stored_1__id_1")


def _cursor_at(database: Collections, until: float) -> str:
    """Return the cursor before the first article that was stored after this time (POSIX seconds).

    For a time in the future, return the empty cursor, which means the beginning.
    """
    if until >= time.time():
        return ""
    later = database["articles"].find({"stored": {"$gt": until}, changes.NUMBER: {"$gt": 0}})
    first = next(later.sort(changes.NUMBER, 1).limit(1), None)
    numbering = changes.numbering(database)
    return numbering.cursor(first[changes.NUMBER] - 1 if first else numbering.last)


MIGRATIONS: tuple[Migration, ...] = (
    _indexes(**_FIRST),
    # for a frontier that holds only pages that are due soon
    _indexes(pages=(_index("next_due", "_id", only={"next_due": {"$gt": 0}}),)),
    # to stream the results of a search
    _indexes(search_results=(_index("search", "_id"),)),
    # to read the notes of a kind
    _indexes(notes=(_index("kind", "_id"),)),
    # for the redirects to a story
    _indexes(joined=(_index("into"),)),
    # for the polls of a source by day
    _indexes(polls=(_index("url", "day"),)),
    # to stream the checked pages of a site
    _indexes(page_checks=(_index("source", "_id"),)),
    # for the hours of a site, the trends of all sites, and the newest articles of a site or language
    _indexes(
        site_hours=(_index("source", "hour"), _index("hour", "source")),
        articles=(_index("source", "-moment", "-_id"), _index("language", "-moment", "-_id")),
    ),
    _index_stored,
    _drop_words,
    # for the removal of a page
    _indexes(search_results=(_index("page"),)),
    # for the removal of an article
    _indexes(
        aliases=(_index("article"),),
        articles=(_index("duplicate_of", only={"duplicate_of": {"$type": "string"}}),),
    ),
    # for the removal of an article, too
    _indexes(articles=(_index("derived_from", only={"derived_from": {"$type": "string"}}),)),
    _number_changes,
    _drop_words,
    _name_several,
    # for the links of a family, and to drop the oldest of them
    _indexes(waiting_links=(_index("source", "family", "-at"),)),
    # to count sources, and to read a few of them
    _indexes(
        sources=(
            _index("source", "kind", "failures"),
            _index("failures", "source"),
            _index("next_due", "failures"),
            _index("silent", "source", only={"silent": True}),
        )
    ),
    # to compare a queue that has lost its last writes
    _indexes(pages=(_index("added"),)),
    # to count posts
    _indexes(articles=(_index("form", "source", "moment", only={"form": "post"}),)),
)
"""``MIGRATIONS[n]`` upgrades version n to n + 1. Never change a released function. Add new functions at the
end.

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
    if version is None:
        _refuse_foreign(place)
    elif version > len(MIGRATIONS):
        raise SchemaError(
            f"{place.name}: {COMPONENT} was written by a newer newsbot (format {version}; this version knows "
            f"formats up to {len(MIGRATIONS)}); upgrade newsbot or name another database in MONGO_URI"
        )
    elif version == len(MIGRATIONS):
        return
    for number, migrate in enumerate(MIGRATIONS[version or 0 :], (version or 0) + 1):
        migrate(database)
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
    later = ("search_results", "notes", "joined", "polls", "page_checks", "site_hours", "waiting_links")
    names = (*_FIRST, *later)
    taken = [name for name in names if database[name].find_one({}, {"_id": 1}) is not None]
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
