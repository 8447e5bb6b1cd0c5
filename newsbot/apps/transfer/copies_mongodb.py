"""Copies of all data in MongoDB."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pymongo import ReplaceOne, UpdateOne

from newsbot.apps.mongodb import pages
from newsbot.apps.mongodb.client import (
    KEY,
    Collections,
    Document,
    Repository,
    from_document,
    to_document,
    version_key,
)
from newsbot.apps.mongodb.sources import note_key, poll_key, site_document
from newsbot.apps.transfer.copies import (
    AT_ONCE,
    BOOKS,
    KINDS,
    AliasCopy,
    ArticleCopy,
    Book,
    Copies,
    Domains,
    PageCopy,
    TextCopy,
    sorted_polls,
)
from newsbot.items import Article, batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import SiteRecord, WaitingLink


class MongoCopies(Repository, Copies):
    """:class:`newsbot.apps.transfer.copies.Copies` of MongoDB."""

    def count(self) -> dict[str, int]:
        """Return the numbers that the server estimates without reading the documents."""
        return {kind: self.database[kind].estimated_document_count() for kind in KINDS}

    def read(self, kind: str, after: str = "", sites: Domains = None) -> Iterator[Any]:
        return self.server.streamed(self._books() if kind == "books" else self._batches(kind, after, sites))

    def _batches(self, kind: str, after: str, sites: Domains) -> Iterator[list[Any]]:
        of_sites: Document = {} if sites is None else {"source": {"$in": list(sites)}}
        query = of_sites if kind in ("pages", "articles") else {}  # the others have no field with the site
        place = (after if kind == "texts" else bytes.fromhex(after)) or None
        for found in self.server.batches(kind, query, AT_ONCE, place):
            match kind:
                case "pages":
                    yield [PageCopy(pages.record_of(one), pages.from_links(one).bitmap) for one in found]
                case "articles":
                    earlier = self._earlier(found)
                    yield [
                        ArticleCopy(key := one["_id"], from_document(one), earlier.get(key, ()))
                        for one in found
                    ]
                case "texts":
                    named = [(*str(one["_id"]).split(" ", 1), one["article"]) for one in found]
                    yield [TextCopy(*one) for one in named if sites is None or one[0] in sites]
                case _:
                    there = _there(self.database, (one["article"] for one in found), of_sites)
                    # These URLs have become articles.
                    outgrown = _there(self.database, (one["_id"] for one in found))
                    yield [
                        AliasCopy(one["_id"], one["url"], one["article"])
                        for one in found
                        if one["article"] in there and one["_id"] not in outgrown
                    ]

    def _earlier(self, found: Sequence[Document]) -> dict[bytes, tuple[Article, ...]]:
        # Versions are sorted by article, so the versions of the batch are in the range from its first article
        # to its last article.
        bounds = {"$gte": found[0]["_id"], "$lt": version_key(found[-1]["_id"], 0xFFFFFFFF)}
        versions = self.database["versions"].find({"_id": bounds}).sort("_id", 1)
        by_article = groupby(versions, lambda one: bytes(one["_id"][:KEY]))
        return {key: tuple(map(from_document, some)) for key, some in by_article}

    def _books(self) -> Iterator[list[Book]]:
        for kind in BOOKS:
            with self.database[kind].find({}).sort("_id", 1) as found:
                # A story that kept its id points to itself. Its document need not be copied.
                books = (_book(kind, one) for one in found if one["_id"] != one.get("into"))
                yield from batched(books, AT_ONCE)

    def write(self, kind: str, copies: Sequence[Any]) -> None:
        operations: dict[str, list[Any]] = defaultdict(list)
        if kind in ("texts", "aliases"):
            there = _there(self.database, (copy.article for copy in copies))
            copies = [copy for copy in copies if copy.article in there]
        for copy in copies:
            match kind:
                case "pages":
                    page = copy.page
                    once = pages.written_once(page, copy.referrers, page.history)
                    once |= pages.written_each_time(page)
                    operations[kind].append(pages.upsert(page.fingerprint, once, {}))
                case "articles":
                    # The versions are written first, so that a stored article always has all of them.
                    for one in copy.earlier:
                        key = version_key(copy.fingerprint, one.version)
                        version = to_document(one) | {"_id": key}
                        operations["versions"].append(ReplaceOne({"_id": key}, version, upsert=True))
                    document = to_document(copy.article)
                    operations[kind].append(_unless_there(document.pop("_id"), document))
                case "texts":
                    operations[kind].append(_unless_there(clean(copy.key), {"article": copy.article}))
                case "aliases":
                    alias = {"article": copy.article, "url": clean(copy.url)}
                    operations[kind].append(_unless_there(copy.fingerprint, alias))
                case _:
                    operations[copy[0]].append(_unless_there(*_document(copy)))
        for name in sorted(operations, reverse=True):  # "versions" before "articles"
            self.database[name].bulk_write(operations[name], ordered=False)

    def put_sites(self, records: Iterable[SiteRecord]) -> None:
        for record in records:
            document = site_document(record)
            self.database["sites"].replace_one({"_id": document["_id"]}, document, upsert=True)


def _book(kind: str, document: Document) -> Book:
    # The key of some documents is a value, and counters that are 0 are not stored.
    found = {"story": document["_id"], "fingerprint": document["_id"], **document}
    if kind == "polls":
        found["polls"] = sorted_polls("".join(document["polls"]))
    return kind, *(found.get(name, 0) for name in BOOKS[kind])


def _document(book: Book) -> tuple[bytes | str, Document]:
    """Return the ``_id`` of the document in which a book is stored, and its other fields."""
    kind, *values = book
    document: Document = dict(zip(BOOKS[kind], values, strict=True))
    match kind:
        case "joined":
            return document.pop("story"), document | {"times": 1}
        case "notes":
            return note_key(document["kind"], document["key"]), document
        case "site_hours":
            return f"{values[0]} {values[1]}", {
                name: value for name, value in document.items() if value or name in ("source", "hour")
            }
        case "waiting_links":
            return document["fingerprint"], pages.document_of(WaitingLink(**document))
        case _:
            polls = [f"{one};" for one in document["polls"].split(";") if one]
            return poll_key(document["url"], document["day"]), document | {"polls": polls}


def _unless_there(key: bytes | str, document: Document) -> UpdateOne:
    # $setOnInsert does not change a document that exists.
    return UpdateOne({"_id": key}, {"$setOnInsert": document}, upsert=True)


def _there(database: Collections, keys: Iterable[bytes], more: Document | None = None) -> set[bytes]:
    """Return the keys that have an article. ``more`` is a further condition on the articles."""
    wanted = {"_id": {"$in": list(set(keys))}, **(more or {})}
    return {one["_id"] for one in database["articles"].find(wanted, {"_id": 1})}
