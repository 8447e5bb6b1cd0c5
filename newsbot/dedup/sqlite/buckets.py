"""Moves recent postings into their buckets, and removes the postings of deleted texts.

:mod:`newsbot.dedup.sqlite.postings` explains postings, buckets and chunks. One *turn* writes the recent
postings of one chunk. It reads and writes each bucket of the chunk once, however many postings are added. It
takes a few milliseconds, as part of the insertion that triggers it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from newsbot.dedup.index import MAX_CANDIDATES
from newsbot.dedup.sqlite.postings import (
    BUCKET_BITS,
    CHUNK_BITS,
    NO_TEXT,
    NUMBER,
    TAG,
    TAG_BITS,
    Chunk,
    Recent,
    join,
    packed,
    tag_of,
    unpacked,
    with_tag,
    without,
    without_old,
)

_LOOKED_AT = 4 * MAX_CANDIDATES
"""Maximum number of texts that are checked per hash, the newest first. It is higher than ``MAX_CANDIDATES``,
because some of these texts may be deleted."""

Buckets = dict[int, bytes]
"""Id of a bucket -> its encoded postings."""


def fold(database: sqlite3.Connection, recent: Recent, turn: int) -> None:
    """Write the recent postings of the chunk with number ``turn`` to its buckets.

    Call it in a transaction, after :meth:`Recent.catch_up`.
    """
    before = _read(database, turn)
    (oldest,) = database.execute("SELECT min(id) FROM near_text").fetchone()
    # Packed numbers have the same order as the numbers. If there are no texts, every posting is too old.
    first = packed([oldest or NO_TEXT - 1])
    now = dict(before)
    for bucket, postings in before.items():
        if postings[:NUMBER] < first:
            now[bucket] = without_old(postings, first)
    chunk = recent.take(turn)
    _tidy(database, chunk, now)
    for bucket, numbers, tags in _by_bucket(chunk.postings):
        now[bucket] = join(now.get(bucket, b""), numbers, tags)
    _write(database, now, before)
    database.execute("INSERT OR REPLACE INTO near_chunk (id, upto) VALUES (?, ?)", (turn, recent.newest))
    database.execute("DELETE FROM near_recent WHERE id <= ?", (recent.folded,))


def newest_living(database: sqlite3.Connection, numbers: bytes) -> list[int]:
    """Return the numbers of the newest texts among the packed ``numbers``, at most ``MAX_CANDIDATES``.

    If there are more than ``MAX_CANDIDATES`` numbers, those of deleted texts are left out. Otherwise they are
    returned too, and the caller notices the deleted texts when it reads the texts.
    """
    if len(numbers) <= NUMBER * MAX_CANDIDATES:
        return unpacked(numbers)
    looked_at = unpacked(numbers[-NUMBER * _LOOKED_AT :])
    living = _living(database, looked_at)
    return [number for number in looked_at if number in living][-MAX_CANDIDATES:]


def _living(database: sqlite3.Connection, numbers: Iterable[int]) -> set[int]:
    rows = database.execute(
        "SELECT id FROM near_text WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
    return {row[0] for row in rows}


def _tidy(database: sqlite3.Connection, chunk: Chunk, buckets: Buckets) -> None:
    """Remove superfluous postings from ``buckets`` and ``chunk``.

    For each hash that several texts have, only the newest ``MAX_CANDIDATES`` texts that are not deleted are
    kept. Hashes that only one text has are not checked.
    """
    shared = {}
    for hash_ in chunk.met:
        there = with_tag(buckets.get(hash_ >> TAG_BITS, b""), tag_of(hash_))
        shared[hash_] = there, unpacked((there + chunk.postings.get(hash_, b""))[-NUMBER * _LOOKED_AT :])
    living = _living(database, {number for _, looked_at in shared.values() for number in looked_at})
    for hash_, (there, looked_at) in shared.items():
        # Numbers grow with time, so the newest texts are at the end.
        stay = [number for number in looked_at if number in living][-MAX_CANDIDATES:]
        gone = set(unpacked(there)).difference(stay)
        if gone:
            bucket = hash_ >> TAG_BITS
            buckets[bucket] = without(buckets[bucket], tag_of(hash_), gone)
        new = set(unpacked(chunk.postings.get(hash_, b"")))
        chunk.postings[hash_] = packed([number for number in stay if number in new])


def _by_bucket(postings: dict[int, bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (id, packed numbers of texts, tags) of each bucket that gets postings, the oldest text first."""
    lengths = np.fromiter(map(len, postings.values()), np.intp, len(postings))  # empty without texts
    hashes = np.repeat(np.fromiter(postings, np.uint64, len(postings)), lengths // NUMBER)
    numbers = np.frombuffer(b"".join(postings.values()), dtype=">u4").astype(np.uint64)
    number_bits = 8 * NUMBER
    # Each row is one integer of 64 bits: bucket, number of the text, tag. One sort then puts them in order.
    rows = hashes >> TAG_BITS << (number_bits + TAG_BITS) | numbers << TAG_BITS | hashes & (1 << TAG_BITS) - 1
    rows.sort()
    buckets = rows >> (number_bits + TAG_BITS)
    # the prepended value is not the id of any bucket, so the first row always counts as the start of a bucket
    starts = np.flatnonzero(np.diff(buckets, prepend=np.uint64(1 << BUCKET_BITS)))
    in_order = (rows >> TAG_BITS).astype(">u4").tobytes()
    tags = rows.astype(">u2").tobytes()
    for bucket, (start, stop) in zip(
        buckets[starts].tolist(), pairwise([*starts.tolist(), len(rows)]), strict=True
    ):
        yield bucket, in_order[start * NUMBER : stop * NUMBER], tags[start * TAG : stop * TAG]


def _read(database: sqlite3.Connection, turn: int) -> Buckets:
    """Return the buckets of the chunk with number ``turn``."""
    buckets = 1 << BUCKET_BITS - CHUNK_BITS
    rows = database.execute(
        "SELECT id, postings FROM near_bucket WHERE id >= ? AND id < ?",
        (turn * buckets, (turn + 1) * buckets),
    )
    return dict(rows.fetchall())


def _write(database: sqlite3.Connection, now: Buckets, before: Buckets) -> None:
    changed = [(bucket, postings) for bucket, postings in now.items() if before.get(bucket) != postings]
    database.executemany(
        "INSERT OR REPLACE INTO near_bucket (id, postings) VALUES (?, ?)",
        [one for one in changed if one[1]],
    )
    database.executemany(
        "DELETE FROM near_bucket WHERE id = ?", [(bucket,) for bucket, postings in changed if not postings]
    )
