"""Reads copies of all data from the collections, and writes copies to them, for ``scrapy move``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    AliasCopy,
    ArticleCopy,
    Book,
    Domains,
    Dump,
    JoinedStory,
    KeptNote,
    Load,
    PageCopy,
    SiteHour,
    TextCopy,
    poll_day,
)
from newsbot.items import Article, batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import COUNTED, Referrers, SiteRecord, WaitingLink

_KINDS = ("pages", "articles", "texts", "aliases")
_BOOKS: dict[str, Callable[[Document], Book]] = {
    "joined": lambda one: JoinedStory(one["_id"], one["into"]),
    "notes": lambda one: KeptNote(one["kind"], one["key"], one["body"]),
    "polls": lambda one: poll_day(one["url"], one["day"], "".join(one["polls"])),
    "site_hours": lambda one: SiteHour(
        one["source"], one["hour"], tuple(one.get(name, 0) for name in COUNTED)
    ),
    "waiting_links": pages.link_of,
}


class MongoDump(Repository, Dump):
    """:class:`newsbot.apps.transfer.copies.Dump` of MongoDB."""

    def count(self) -> dict[str, int]:
        """Return the numbers that the server estimates without reading the documents."""
        with self.server.readable() as database:
            return {kind: database[kind].estimated_document_count() for kind in _KINDS}

    def pages(self, after: str = "", sites: Domains = None) -> Iterator[PageCopy]:
        def batches() -> Iterator[list[PageCopy]]:
            for found in self._batches("pages", bytes.fromhex(after), sites):
                yield [PageCopy(pages.record_of(one), pages.from_links(one).bitmap) for one in found]

        return self.server.streamed(batches())

    def articles(self, after: str = "", sites: Domains = None) -> Iterator[ArticleCopy]:
        def batches() -> Iterator[list[ArticleCopy]]:
            for found in self._batches("articles", bytes.fromhex(after), sites):
                # Versions are sorted by article, so the versions of the batch are in the range from its first
                # article to its last article.
                bounds = {"$gte": found[0]["_id"], "$lt": version_key(found[-1]["_id"], 0xFFFFFFFF)}
                earlier: dict[bytes, tuple[Article, ...]] = {}
                versions = self.server.at.database["versions"].find({"_id": bounds}).sort("_id", 1)
                for key, some in groupby(versions, lambda one: bytes(one["_id"][:KEY])):
                    earlier[key] = tuple(map(from_document, some))
                yield [
                    ArticleCopy(one["_id"], from_document(one), earlier.get(one["_id"], ())) for one in found
                ]

        return self.server.streamed(batches())

    def texts(self, after: str = "", sites: Domains = None) -> Iterator[TextCopy]:
        def batches() -> Iterator[list[TextCopy]]:
            for found in self._batches("texts", after, None):  # texts have no field with the site
                named = [(*str(one["_id"]).split(" ", 1), one["article"]) for one in found]
                yield [TextCopy(*one) for one in named if sites is None or one[0] in sites]

        return self.server.streamed(batches())

    def aliases(self, after: str = "", sites: Domains = None) -> Iterator[AliasCopy]:
        def batches() -> Iterator[list[AliasCopy]]:
            database = self.server.at.database
            of_sites = {} if sites is None else {"source": {"$in": list(sites)}}
            for found in self._batches("aliases", bytes.fromhex(after), None):
                there = _there(database, (one["article"] for one in found), of_sites)
                outgrown = _there(database, (one["_id"] for one in found))  # these URLs have become articles
                yield [
                    AliasCopy(one["_id"], one["url"], one["article"])
                    for one in found
                    if one["article"] in there and one["_id"] not in outgrown
                ]

        return self.server.streamed(batches())

    def books(self) -> Iterator[Book]:
        def batches() -> Iterator[list[Book]]:
            for name, make in _BOOKS.items():
                with self.server.at.database[name].find({}).sort("_id", 1) as found:
                    # A story that kept its id points to itself. Its document need not be copied.
                    books = (make(one) for one in found if one["_id"] != one.get("into"))
                    yield from batched(books, AT_ONCE)

        return self.server.streamed(batches())

    def _batches(self, name: str, after: bytes | str, sites: Domains) -> Iterator[list[Document]]:
        query: Document = {} if sites is None else {"source": {"$in": list(sites)}}
        return self.server.batches(name, query, AT_ONCE, after or None)


class MongoLoad(Repository, Load):
    """:class:`newsbot.apps.transfer.copies.Load` for MongoDB."""

    def pages(self, copies: Sequence[PageCopy]) -> None:
        operations = []
        for copy in copies:
            page = copy.page
            referrers = Referrers([clean(url) for url in page.referrers], page.referrer_count, copy.bitmap)
            once = pages.written_once(page, referrers, page.history) | pages.written_each_time(page)
            operations.append(pages.upsert(page.fingerprint, once, {}))
        with self.server.readable() as database:
            _write(database, "pages", operations)

    def articles(self, copies: Sequence[ArticleCopy]) -> None:
        """Store articles that do not exist yet, with their earlier versions.

        The versions are written before the articles, so that a stored article always has all its versions.
        """
        documents = [to_document(copy.article) for copy in copies]
        earlier = []
        for copy in copies:
            for one in copy.earlier:
                key = version_key(copy.fingerprint, one.version)
                earlier.append(ReplaceOne({"_id": key}, to_document(one) | {"_id": key}, upsert=True))
        with self.server.readable() as database:
            _write(database, "versions", earlier)
            _write(database, "articles", [_unless_there(own.pop("_id"), own) for own in documents])

    def texts(self, copies: Sequence[TextCopy]) -> None:
        with self.server.readable() as database:
            there = _there(database, (copy.article for copy in copies))
            kept = [copy for copy in copies if copy.article in there]
            _write(
                database,
                "texts",
                [_unless_there(clean(copy.key), {"article": copy.article}) for copy in kept],
            )

    def aliases(self, copies: Sequence[AliasCopy]) -> None:
        with self.server.readable() as database:
            there = _there(database, (copy.article for copy in copies))
            operations = [
                _unless_there(copy.fingerprint, {"article": copy.article, "url": clean(copy.url)})
                for copy in copies
                if copy.article in there
            ]
            _write(database, "aliases", operations)

    def sites(self, records: Iterable[SiteRecord]) -> None:
        with self.server.readable() as database:
            for record in records:
                document = site_document(record)
                database["sites"].replace_one({"_id": document["_id"]}, document, upsert=True)

    def books(self, books: Sequence[Book]) -> None:
        operations: dict[str, list[UpdateOne]] = {}
        for book in books:
            name, key, document = _document(book)
            operations.setdefault(name, []).append(_unless_there(key, document))
        with self.server.readable() as database:
            for name, some in operations.items():
                _write(database, name, some)


def _document(book: Book) -> tuple[str, bytes | str, Document]:
    """Return the collection in which a :data:`Book` is stored, its ``_id`` and its other fields."""
    if isinstance(book, JoinedStory):
        return "joined", book.story, {"into": book.into, "times": 1}
    if isinstance(book, KeptNote):
        note = {"kind": book.kind, "key": book.key, "body": book.body}
        return "notes", note_key(book.kind, book.key), note
    if isinstance(book, SiteHour):
        counts = {name: count for name, count in zip(COUNTED, book.counts, strict=True) if count}
        return "site_hours", f"{book.source} {book.hour}", {"source": book.source, "hour": book.hour} | counts
    if isinstance(book, WaitingLink):
        return "waiting_links", book.fingerprint, pages.document_of(book)
    polled = {"url": book.url, "day": book.day, "polls": list(book.polls)}
    return "polls", poll_key(book.url, book.day), polled


def _unless_there(key: bytes | str, document: Document) -> UpdateOne:
    # $setOnInsert does not change a document that exists.
    return UpdateOne({"_id": key}, {"$setOnInsert": document}, upsert=True)


def _there(database: Collections, keys: Iterable[bytes], more: Document | None = None) -> set[bytes]:
    """Return the keys that have an article. ``more`` is a further condition on the articles."""
    wanted = {"_id": {"$in": list(set(keys))}, **(more or {})}
    return {one["_id"] for one in database["articles"].find(wanted, {"_id": 1})}


def _write(database: Collections, name: str, operations: Sequence[Any]) -> None:
    if operations:
        database[name].bulk_write(operations, ordered=False)
