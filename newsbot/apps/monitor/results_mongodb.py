"""Stores the results of the spiders ``monitor`` and ``search``.

The checks of ``monitor`` have one document for each page. The results of ``search`` have one document for
each search, text and page. Transactions are not needed, because each document is written by one idempotent
operation. The ``_id`` of a result consists of search, text and page, so there cannot be two results for the
same search, text and page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import blake2b

from pymongo import DeleteOne, UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.apps.mongodb.client import Document, Repository, all_duplicates, harmless, write_in_turns
from newsbot.apps.mongodb.pages import with_events
from newsbot.apps.monitor.results import (
    MAX_CHECKS,
    CheckedPage,
    Checks,
    PageCheck,
    Searches,
    SearchResult,
    SearchSummary,
    bounded,
    packed_check,
    unpacked_checks,
)
from newsbot.apps.search.phrases import Position
from newsbot.items import batched
from newsbot.pages.text.words import clean
from newsbot.urls import fingerprint

_CHECKS_AT_ONCE = 500
_RESULTS_AT_ONCE = 200
_KEYS_AT_ONCE = 10_000
_SEARCHES: list[Document] = [
    {
        "$group": {
            "_id": {"search": "$search", "page": "$page"},
            "hits": {"$sum": "$hits"},
            "first": {"$min": "$looked_at"},
            "last": {"$max": "$looked_at"},
        }
    },
    {
        "$group": {
            "_id": "$_id.search",
            "pages": {"$sum": 1},
            "hits": {"$sum": "$hits"},
            "first": {"$min": "$first"},
            "last": {"$max": "$last"},
        }
    },
    {"$sort": {"last": -1, "_id": 1}},
]


class MongoChecks(Repository, Checks):
    """:class:`newsbot.apps.monitor.results.Checks` in MongoDB."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        with self.server.readable() as database:
            for some in batched(checks, _CHECKS_AT_ONCE):
                operations = [_saving(check) for check in some]
                write_in_turns(partial(database["page_checks"].bulk_write, operations, ordered=True))

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        with self.server.readable() as database:
            return {
                one["_id"]: _page(one)
                for some in batched(dict.fromkeys(fingerprints), _CHECKS_AT_ONCE)
                for one in database["page_checks"].find({"_id": {"$in": some}})
            }

    def iter(self, site: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        query = {} if site is None else {"source": clean(site)}
        return self.server.streamed(self._unlisted(query) if unlisted else self._batches(query))

    def _batches(self, query: Document) -> Iterator[list[CheckedPage]]:
        for documents in self.server.batches("page_checks", query, _CHECKS_AT_ONCE):
            yield [_page(document) for document in documents]

    def _unlisted(self, query: Document) -> Iterator[list[CheckedPage]]:
        """Yield checked pages that have no page record, in batches.

        The keys are compared first, so that only the documents of these pages are read.
        """
        database, only_key = self.server.at.database, {"_id": 1}
        checks, pages = database["page_checks"], database["pages"]
        while found := list(checks.find(query, only_key).sort("_id", 1).limit(_KEYS_AT_ONCE)):
            keys = [one["_id"] for one in found]
            listed = {one["_id"] for one in pages.find({"_id": {"$in": keys}}, only_key)}
            missing = [key for key in keys if key not in listed]
            for some in batched(missing, _CHECKS_AT_ONCE):
                yield [_page(document) for document in checks.find({"_id": {"$in": some}})]
            # The next batch starts after the last key. The documents of listed pages are never read.
            query["_id"] = {"$gt": keys[-1]}

    def forget(self, *, site: str | None = None, pages: Sequence[bytes] | None = None) -> int:
        query: Document = {} if site is None else {"source": clean(site)}
        if pages is not None:
            query["_id"] = {"$in": list(dict.fromkeys(pages))}
        with self.server.readable() as database:
            return database["page_checks"].delete_many(query).deleted_count


class MongoSearches(Repository, Searches):
    """:class:`newsbot.apps.monitor.results.Searches` in MongoDB."""

    def save(self, found: Sequence[SearchResult]) -> None:
        operations = [_operation(bounded(result)) for result in found]
        if not operations:
            return
        with self.server.readable() as database:
            for _ in range(2):
                try:
                    database["search_results"].bulk_write(operations, ordered=False)
                    return
                except BulkWriteError as error:
                    # A duplicate key at the first attempt has two possible causes: another worker has just
                    # created the result, or the stored result is from a later visit. After the second
                    # attempt, only the second cause is possible, and the stored result stays.
                    if not all_duplicates(error):
                        raise

    def selected(self, values: Document) -> Iterator[SearchResult]:
        return self.server.streamed(self._batches(values))

    def _batches(self, query: Document) -> Iterator[list[SearchResult]]:
        for documents in self.server.batches("search_results", query, _RESULTS_AT_ONCE):
            yield [_result(document) for document in documents]

    def all(self) -> list[SearchSummary]:
        with self.server.readable() as database:
            found = database["search_results"].aggregate(
                _SEARCHES, allowDiskUse=True, maxTimeMS=self.server.patience
            )
            return [SearchSummary(search=document.pop("_id"), **document) for document in found]

    def forget(self, search: str | None = None, *, pages: Sequence[bytes] | None = None) -> int:
        query: Document = {"search": clean(search or "")}
        if pages is not None:
            # selected by the key of the page, because the page record may have another spelling of the URL
            query = {"page": {"$in": list(dict.fromkeys(pages))}}
        with self.server.readable() as database:
            return database["search_results"].delete_many(query).deleted_count


def _saving(check: PageCheck) -> UpdateOne:
    """Return the operation that adds a check to its page."""
    url = clean(check.url)
    always = {"$literal": {"url": url, "source": clean(check.source)}}
    checks = with_events([harmless(packed_check(check))], "$checks", MAX_CHECKS)
    steps: list[Document] = [
        # later objects win, so the empty list is used only in a new document
        {"$replaceWith": {"$mergeObjects": [{"checks": []}, "$$ROOT", always]}},
        {"$set": {"checks": checks}},
        {"$set": {"last": {"$max": "$checks.at"}}},
    ]
    return UpdateOne({"_id": fingerprint(url)}, steps, upsert=True)


def _page(document: Document) -> CheckedPage:
    return unpacked_checks(document["url"], document["source"], document["checks"])


def _operation(result: SearchResult) -> UpdateOne | DeleteOne:
    """Return the operation that stores a result, or deletes it if it has no positions."""
    page = fingerprint(result.url)
    parts = [blake2b(part.encode(), digest_size=16).digest() for part in (result.search, result.text)]
    # If the result of a later visit is stored, nothing matches, and the upsert fails with a duplicate key.
    key = {"_id": b"".join((*parts, page)), "looked_at": {"$not": {"$gt": result.looked_at}}}
    if not result.positions:
        return DeleteOne(key)
    return UpdateOne(key, {"$set": harmless(asdict(result)) | {"page": page}}, upsert=True)


def _result(document: Document) -> SearchResult:
    values = {name: value for name, value in document.items() if name not in ("_id", "page")}
    positions = tuple(Position(**one) for one in values.pop("positions"))
    return SearchResult(**values, positions=positions)
