"""Copies of all that the collections hold, and taking them; see :mod:`newsbot.storage.transfer`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pymongo import ReplaceOne, UpdateOne

from newsbot.connections.mongo import Collections, Document
from newsbot.items import Article
from newsbot.search.index.entry import entry_of
from newsbot.storage.base import SiteRecord
from newsbot.storage.mongo import pages, sources
from newsbot.storage.mongo.articles import version_key
from newsbot.storage.mongo.documents import from_document, harmless, to_document
from newsbot.storage.mongo.links import from_links, to_links
from newsbot.storage.mongo.words import add_all
from newsbot.storage.referrers import Referrers
from newsbot.storage.transfer import AT_ONCE, AliasCopy, ArticleCopy, PageCopy, Sites, TextCopy
from newsbot.text.words import clean

_KEY = 16  # bytes of a fingerprint


def count_copies(database: Collections) -> dict[str, int]:
    """Return how many documents there are of each kind, as the server estimates it."""
    kinds = ("pages", "articles", "texts", "aliases")
    return {kind: database[kind].estimated_document_count() for kind in kinds}


def copy_pages(database: Collections, after: str, sites: Sites) -> Iterator[list[PageCopy]]:
    """Yield pages with what is counted of their referrers."""
    for found in _batches(database, "pages", bytes.fromhex(after), sites):
        yield [PageCopy(pages.record(one), from_links(one).bitmap) for one in found]


def copy_articles(database: Collections, after: str, sites: Sites) -> Iterator[list[ArticleCopy]]:
    """Yield articles with their versions."""
    for found in _batches(database, "articles", bytes.fromhex(after), sites):
        bounds = {"$gte": found[0]["_id"], "$lt": version_key(found[-1]["_id"], 0xFFFFFFFF)}
        earlier: dict[bytes, tuple[Article, ...]] = {}
        versions = database["versions"].find({"_id": bounds}).sort("_id", 1)
        for key, some in groupby(versions, lambda one: bytes(one["_id"][:_KEY])):
            earlier[key] = tuple(map(from_document, some))
        yield [ArticleCopy(one["_id"], from_document(one), earlier.get(one["_id"], ())) for one in found]


def copy_texts(database: Collections, after: str, sites: Sites) -> Iterator[list[TextCopy]]:
    """Yield the texts that articles have or had."""
    for found in _batches(database, "texts", after, None):
        copies = [_text(one) for one in found]
        yield [copy for copy in copies if sites is None or copy.source in sites]


def copy_aliases(database: Collections, after: str, sites: Sites) -> Iterator[list[AliasCopy]]:
    """Yield other URLs of articles."""
    for found in _batches(database, "aliases", bytes.fromhex(after), None):
        of_sites = {} if sites is None else {"source": {"$in": list(sites)}}
        there = _there(database, (one["article"] for one in found), of_sites)
        outgrown = _there(database, (one["_id"] for one in found))  # they are articles themselves by now
        yield [
            AliasCopy(one["_id"], one["url"], one["article"])
            for one in found
            if one["article"] in there and one["_id"] not in outgrown
        ]


def take_pages(database: Collections, copies: Sequence[PageCopy]) -> None:
    """Keep pages that are not there."""
    operations = []
    for copy in copies:
        page = copy.page
        links = to_links(Referrers([clean(url) for url in page.referrers], page.referrer_count, copy.bitmap))
        once = {"first_seen": page.first_seen, "history": harmless(page.history), **links}
        operations.append(pages.upsert(page.fingerprint, once | pages.to_document(page), {}))
    _write(database, "pages", operations)


def take_articles(database: Collections, copies: Sequence[ArticleCopy]) -> None:
    """Keep articles with their versions; the article last, so that one that is there is whole."""
    documents = [(copy, to_document(copy.article) | {"stored": time.time()}) for copy in copies]
    earlier = []
    for copy, _ in documents:
        for one in copy.earlier:
            key = version_key(copy.fingerprint, one.version)
            earlier.append(ReplaceOne({"_id": key}, to_document(one) | {"_id": key}, upsert=True))
    _write(database, "versions", earlier)
    there = _there(database, (own["_id"] for _, own in documents))  # their words may be of a newer version
    new = [(copy, own) for copy, own in documents if own["_id"] not in there]
    add_all(database, [entry_of(copy.article, own["_id"], own["version"]) for copy, own in new])
    own = [UpdateOne({"_id": own["_id"]}, {"$setOnInsert": own}, upsert=True) for _, own in documents]
    _write(database, "articles", own)


def take_texts(database: Collections, copies: Sequence[TextCopy]) -> None:
    """Keep the texts of articles that are there."""
    there = _there(database, (copy.article for copy in copies))
    _write(
        database,
        "texts",
        [
            UpdateOne({"_id": clean(copy.key)}, {"$setOnInsert": {"article": copy.article}}, upsert=True)
            for copy in copies
            if copy.article in there
        ],
    )


def take_aliases(database: Collections, copies: Sequence[AliasCopy]) -> None:
    """Keep the other URLs of articles that are there."""
    there = _there(database, (copy.article for copy in copies))
    _write(
        database,
        "aliases",
        [
            UpdateOne(
                {"_id": copy.fingerprint},
                {"$setOnInsert": {"article": copy.article, "url": clean(copy.url)}},
                upsert=True,
            )
            for copy in copies
            if copy.article in there
        ],
    )


def take_sites(database: Collections, records: Iterable[SiteRecord]) -> None:
    """Write the records of sites whole."""
    for record in records:
        document = sources.site_document(record)
        database["sites"].replace_one({"_id": document["_id"]}, document, upsert=True)


def _text(document: Document) -> TextCopy:
    source, _, digest = str(document["_id"]).partition(" ")
    return TextCopy(source, digest, document["article"])


def _there(database: Collections, keys: Iterable[bytes], more: Document | None = None) -> set[bytes]:
    wanted = {"_id": {"$in": list(set(keys))}, **(more or {})}
    return {one["_id"] for one in database["articles"].find(wanted, {"_id": 1})}


def _write(database: Collections, name: str, operations: Sequence[Any]) -> None:
    if operations:
        database[name].bulk_write(operations, ordered=False)


def _batches(database: Collections, name: str, after: Any, sites: Sites) -> Iterator[list[Document]]:
    """Yield documents by ``_id``, beginning behind ``after``."""
    asked: Document = {} if sites is None else {"source": {"$in": list(sites)}}
    while True:
        query = asked | ({"_id": {"$gt": after}} if after else {})
        found = list(database[name].find(query).sort("_id", 1).limit(AT_ONCE))
        if not found:
            return
        yield found
        after = found[-1]["_id"]
