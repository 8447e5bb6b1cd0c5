"""Recording pages that links point to, by any number of workers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.connections.mongo import Collections, Document, all_duplicates
from newsbot.items import PageRecord
from newsbot.storage.base import MAX_HISTORY
from newsbot.storage.mongo.documents import harmless
from newsbot.storage.mongo.links import add_referrers, from_links, to_links
from newsbot.storage.mongo.pages import new_page, select, to_document, upsert
from newsbot.storage.referrers import referrers_of
from newsbot.text.words import clean

_AT_ONCE = 500


@dataclass(slots=True)
class _Met:
    """A page as one batch met it: the first record, all referrers, the smallest depth."""

    page: PageRecord
    depth: int
    referrers: dict[str, None] = field(default_factory=dict)


def discover(database: Collections, pages: Sequence[PageRecord]) -> None:
    """Record new pages as given; add referrers and the smaller depth to known ones."""
    met = _gather(pages)
    keys = iter(list(met))
    while some := list(islice(keys, _AT_ONCE)):
        batch = {key: met[key] for key in some}
        known = _add_to_known(database, batch)
        faster = _insert(database, {key: one for key, one in batch.items() if key not in known})
        if faster:  # pages that another worker recorded meanwhile
            _add_to_known(database, {key: batch[key] for key in faster})


def _gather(pages: Sequence[PageRecord]) -> dict[bytes, _Met]:
    met: dict[bytes, _Met] = {}
    for page in pages:
        one = met.setdefault(page.fingerprint, _Met(page, page.depth))
        one.depth = min(one.depth, page.depth)
        one.referrers |= dict.fromkeys(map(clean, page.referrers))
    return met


def _add_to_known(database: Collections, met: dict[bytes, _Met]) -> set[bytes]:
    """Write what is new of those that are known, and return which are."""
    known: set[bytes] = set()
    operations: list[UpdateOne] = []
    for found in select(database, met, ["depth", "referrers", "referrer_count", "referrer_bits"]):
        key = found["_id"]
        known.add(key)
        referrers = from_links(found)
        new = [url for url in met[key].referrers if referrers.add([url])]
        if new or met[key].depth < found["depth"]:
            operations += add_referrers(key, new, met[key].depth)
    if operations:
        database["pages"].bulk_write(operations, ordered=True)
    return known


def _insert(database: Collections, met: dict[bytes, _Met]) -> set[bytes]:
    """Write new pages; return those that were there when it was done."""
    if not met:
        return set()
    keys = list(met)
    operations = [upsert(key, _document(met[key]), {}) for key in keys]
    try:
        inserted = set(database["pages"].bulk_write(operations, ordered=False).upserted_ids or ())
    except BulkWriteError as error:
        if not all_duplicates(error):
            raise
        inserted = {each["index"] for each in error.details["upserted"]}
    return {key for number, key in enumerate(keys) if number not in inserted}


def _document(met: _Met) -> Document:
    page = met.page
    referrers = referrers_of(page)
    referrers.add(met.referrers)
    once = new_page(page) | to_links(referrers) | {"history": harmless(page.history[-MAX_HISTORY:])}
    return once | to_document(page) | {"depth": met.depth}
