"""Who links to a page: recording that pages were found, by any number of workers at once.

The first referrers stand in a list. The others are bits of a bitmap (newsbot/storage/referrers.py),
kept as 32 numbers of 32 bits, because MongoDB sets a bit of a number in one operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from bson import Int64
from pymongo import UpdateOne

from newsbot.connections.mongo import Document
from newsbot.storage.base import MAX_REFERRERS
from newsbot.storage.referrers import Referrers, bit_of, estimate

_BITS = 32


def to_links(referrers: Referrers) -> Document:
    """Return the fields of a new page."""
    found: Document = {"referrers": referrers.kept, "referrer_count": referrers.count}
    bitmap = int.from_bytes(referrers.bitmap, "big")
    if bitmap:
        found["referrer_bits"] = {
            str(place): Int64(bits)
            for place in range(_BITS)
            if (bits := bitmap >> (place * _BITS) & 0xFFFFFFFF)
        }
    return found


def from_links(document: Document) -> Referrers:
    """Return what is kept of the referrers of a page."""
    kept: list[str] = document["referrers"][:MAX_REFERRERS]
    bitmap = sum(
        int(bits) << (int(place) * _BITS) for place, bits in document.get("referrer_bits", {}).items()
    )
    count = max(document["referrer_count"], len(kept))
    if bitmap:
        count = max(count, MAX_REFERRERS + estimate(bitmap))
    return Referrers(kept, count, bitmap.to_bytes(128, "big") if bitmap else b"")


def add_referrers(key: bytes, urls: Sequence[str], depth: int) -> list[UpdateOne]:
    """Add referrers and the smaller depth: each operation does nothing the second time."""
    new = {"$filter": {"input": {"$literal": urls}, "cond": {"$not": {"$in": ["$$this", "$referrers"]}}}}
    first = {"$slice": [{"$concatArrays": ["$referrers", new]}, MAX_REFERRERS]}
    listed = UpdateOne(
        {"_id": key},
        [
            {"$set": {"depth": {"$min": ["$depth", depth]}, "referrers": first}},
            {"$set": {"referrer_count": {"$max": ["$referrer_count", {"$size": "$referrers"}]}}},
        ],
    )
    return [listed, *(_mark(key, url) for url in urls)]


def _mark(key: bytes, url: str) -> UpdateOne:
    """Set the bit of a referrer that found no place in the list."""
    place, bit = divmod(bit_of(url), _BITS)
    return UpdateOne(
        {"_id": key, "referrers": {"$ne": url}},
        {"$bit": {f"referrer_bits.{place}": {"or": Int64(1 << bit)}}},
    )
