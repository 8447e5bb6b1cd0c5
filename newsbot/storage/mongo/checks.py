"""What looks at pages found: one document a page, with its last checks.

No transaction is needed: adding a check is one operation that does nothing the second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.connections.mongo import Collections, Document, all_duplicates
from newsbot.storage.checks import MAX_CHECKS, CheckedPage, PageCheck, packed, unpacked
from newsbot.storage.mongo.documents import harmless
from newsbot.storage.mongo.pages import with_events
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 500
_KEYS_AT_ONCE = 10_000
_TURNS = 5  # a page that is written for the first time by two workers at once takes a second turn


def save_checks(database: Collections, checks: Sequence[PageCheck]) -> None:
    """Keep checks."""
    for start in range(0, len(checks), _AT_ONCE):
        operations = [_saving(check) for check in checks[start : start + _AT_ONCE]]
        for turn in range(1, _TURNS + 1):
            try:
                database["page_checks"].bulk_write(operations, ordered=True)
                break
            except BulkWriteError as error:
                if turn == _TURNS or not all_duplicates(error):
                    raise


def checked(database: Collections, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
    """Return the checks of those URLs."""
    asked = list(dict.fromkeys(fingerprints))
    found: dict[bytes, CheckedPage] = {}
    for start in range(0, len(asked), _AT_ONCE):
        documents = database["page_checks"].find({"_id": {"$in": asked[start : start + _AT_ONCE]}})
        found |= {document["_id"]: _page(document) for document in documents}
    return found


def checked_batches(database: Collections, source: str | None) -> Iterator[list[CheckedPage]]:
    """Yield checked pages, batch by batch: no cursor stays open while the caller works."""
    query: Document = {} if source is None else {"source": clean(source)}
    while True:
        documents = list(database["page_checks"].find(query).sort("_id", 1).limit(_AT_ONCE))
        if not documents:
            return
        yield [_page(document) for document in documents]
        query["_id"] = {"$gt": documents[-1]["_id"]}


def unlisted_batches(database: Collections, source: str | None) -> Iterator[list[CheckedPage]]:
    """Yield checked pages without a record: keys are compared, and only what is wanted is read."""
    query: Document = {} if source is None else {"source": clean(source)}
    only_key = {"_id": 1}
    while True:
        found = database["page_checks"].find(query, only_key).sort("_id", 1).limit(_KEYS_AT_ONCE)
        keys = [document["_id"] for document in found]
        if not keys:
            return
        listed = {one["_id"] for one in database["pages"].find({"_id": {"$in": keys}}, only_key)}
        missing = [key for key in keys if key not in listed]
        for start in range(0, len(missing), _AT_ONCE):
            some = {"_id": {"$in": missing[start : start + _AT_ONCE]}}
            yield [_page(document) for document in database["page_checks"].find(some)]
        query["_id"] = {"$gt": keys[-1]}


def forget_checks(database: Collections, source: str | None, url: str | None, before: float | None) -> int:
    """Delete the checks of pages."""
    query: Document = {}
    if source is not None:
        query["source"] = clean(source)
    if url is not None:
        query["_id"] = fingerprint(clean(url))
    if before is not None:
        query["last"] = {"$lt": before}
    return database["page_checks"].delete_many(query).deleted_count


def _saving(check: PageCheck) -> UpdateOne:
    url = clean(check.url)
    always = {"$literal": {"url": url, "source": clean(check.source)}}
    checks = with_events([harmless(packed(check))], "$checks", MAX_CHECKS)
    steps: list[Document] = [
        {"$replaceWith": {"$mergeObjects": [{"checks": []}, "$$ROOT", always]}},
        {"$set": {"checks": checks}},
        {"$set": {"last": {"$max": "$checks.at"}}},
    ]
    return UpdateOne({"_id": fingerprint(url)}, steps, upsert=True)


def _page(document: Document) -> CheckedPage:
    return unpacked(document["url"], document["source"], document["checks"])
