"""What searches over pages found: one document for each search, text and page.

Its ``_id`` is made of these three, so that no race can make two of them (see schema.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b

from pymongo import DeleteOne, UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.connections.mongo import Collections, Document, all_duplicates
from newsbot.search.phrases import Position
from newsbot.storage.mongo.documents import harmless
from newsbot.storage.results import SearchResult, SearchSummary, bounded
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 200


def save_results(database: Collections, results: Sequence[SearchResult]) -> None:
    """Keep results, or take out what is no longer true."""
    operations = [_operation(bounded(result)) for result in results]
    if not operations:
        return
    for last in (False, True):
        try:
            database["search_results"].bulk_write(operations, ordered=False)
        except BulkWriteError as error:
            # once: another worker was quicker; twice: what it has is of a later look
            if not all_duplicates(error):
                raise
            if last:
                return
        else:
            return


def result_batches(
    database: Collections, search: str, text: str | None, source: str | None
) -> Iterator[list[SearchResult]]:
    """Yield the results of a search, batch by batch: no cursor stays open while the caller works."""
    asked = {"search": search, "text": text, "source": source}
    query: Document = {name: clean(value) for name, value in asked.items() if value is not None}
    while True:
        documents = list(database["search_results"].find(query).sort("_id", 1).limit(_AT_ONCE))
        if not documents:
            return
        yield [_result(document) for document in documents]
        query["_id"] = {"$gt": documents[-1]["_id"]}


def searches(database: Collections, *, patience: int) -> list[SearchSummary]:
    """Return all searches, the latest first; ``patience`` in milliseconds."""
    page = {"search": "$search", "page": "$page"}
    steps: list[Document] = [
        {
            "$group": {
                "_id": page,
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
    found = database["search_results"].aggregate(steps, allowDiskUse=True, maxTimeMS=patience)
    return [SearchSummary(search=document.pop("_id"), **document) for document in found]


def forget_search(database: Collections, search: str) -> int:
    """Delete the results of a search."""
    return database["search_results"].delete_many({"search": clean(search)}).deleted_count


def _key(result: SearchResult) -> bytes:
    of_search = blake2b(result.search.encode(), digest_size=16).digest()
    of_text = blake2b(result.text.encode(), digest_size=16).digest()
    return of_search + of_text + fingerprint(result.url)


def _operation(result: SearchResult) -> UpdateOne | DeleteOne:
    key = {"_id": _key(result), "looked_at": {"$not": {"$gt": result.looked_at}}}
    if not result.positions:
        return DeleteOne(key)
    document = harmless(asdict(result))
    document["page"] = fingerprint(result.url)
    return UpdateOne(key, {"$set": document}, upsert=True)


def _result(document: Document) -> SearchResult:
    values = {name: value for name, value in document.items() if name not in ("_id", "page")}
    positions = tuple(Position(**one) for one in values.pop("positions"))
    return SearchResult(**values, positions=positions)
