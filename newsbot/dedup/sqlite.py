"""The near-duplicate index in the embedded data file; what it promises: :mod:`newsbot.dedup.index`.

Looking and inserting are one transaction. A text is one row (:mod:`newsbot.dedup.record`); its postings, one
a passage and one for its id, lie in a million buckets, each a row that holds the postings of many texts: a
row for each posting would take twice the room. What is gone leaves its postings behind; they are taken out
when their bucket is written.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from newsbot.dedup.index import BUCKETS, KEEP, MAX_CANDIDATES, SHARED, Near, near_of, posting_hashes
from newsbot.dedup.minhash import Signature
from newsbot.dedup.passages import PASSAGES
from newsbot.dedup.record import Record, pack, seconds, unpack
from newsbot.dedup.shortening import PIECES_ID, shorten
from newsbot.errors import SchemaError
from newsbot.sqlitefile import open_database, readable_errors, transaction

SCHEME = f"{BUCKETS} pieces={PIECES_ID}"
"""What two programs must share to use one index: signatures, passages, and how records are written."""

_MIGRATIONS = (
    """
    CREATE TABLE near_scheme (scheme TEXT NOT NULL);
    CREATE TABLE near_doc (id INTEGER PRIMARY KEY);
    CREATE TABLE near_band (bucket INTEGER PRIMARY KEY);
    """,
    """
    -- Never released: what the first layout held is the resemblance of some days.
    DROP TABLE near_doc;
    DROP TABLE near_band;
    DELETE FROM near_scheme;

    CREATE TABLE near_text (
        id     INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with time and is never used twice
        record BLOB NOT NULL                       -- see newsbot/dedup/record.py
    );

    -- Postings of six bytes: 16 bits of a hash, 32 bits id of the text, oldest text first.
    CREATE TABLE near_bucket (
        id       INTEGER PRIMARY KEY,  -- 20 further bits of the hash
        postings BLOB NOT NULL
    );
    """,
)
_POSTING = 6
_TAG = 2  # bytes of a posting that are hash
_TEND_EVERY = 64  # insertions between two clearings
_FORGET_AT_ONCE = 256  # texts that one clearing may take: more than come in between, so that it keeps up
_CLEAR_AT_ONCE = 64  # buckets
_BUCKETS = 1 << 20
_CHECKPOINT_PAGES = 16_000
"""An insertion writes 18 pages all over the file: the more are gathered, the fewer are written twice. No more
than the log keeps of its room (``journal_size_limit``)."""

_NO_TEXT = 1 << 8 * (_POSTING - _TAG)  # higher than any number

_READ_BUCKETS = {
    count: f"SELECT id, postings FROM near_bucket WHERE id IN ({', '.join('?' * count)})"  # noqa: S608 - signs of ours
    for count in range(1, PASSAGES + 2)
}


class SqliteIndex:
    """A :class:`newsbot.dedup.index.NearIndex` in the file at ``path``, for any number of processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._insertions = 0
        self._tail = 0  # all texts below this number are gone
        self._chance = random.Random()  # noqa: S311  which buckets are cleared next is no secret
        self._database = open_database(path, component="dedup", migrations=_MIGRATIONS)
        try:
            with readable_errors(path):
                self._database.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
                self._check_scheme()
        except BaseException:
            self._database.close()
            raise

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """See :meth:`newsbot.dedup.index.NearIndex.check_and_insert`."""
        moment = seconds(at)
        record = pack(doc_id, shorten(doc_id), source, signature, moment) if signature.comparable else None
        places = _places(doc_id, signature)
        with readable_errors(self._path), transaction(self._database):
            if self._insertions % _TEND_EVERY == 0:
                self._forget(moment - int(KEEP))
                self._clear()
            self._insertions += 1
            found = self._insert(doc_id, record, places, moment - int(KEEP))
        return near_of(signature, found) if found and record else []

    def count(self) -> int:
        """See :meth:`newsbot.dedup.index.NearIndex.count`."""
        with readable_errors(self._path):
            return int(self._database.execute("SELECT count(*) FROM near_text").fetchone()[0])

    def close(self) -> None:
        """See :meth:`newsbot.dedup.index.NearIndex.close`."""
        self._database.close()

    # --- inside
    def _insert(
        self, doc_id: str, record: bytes | None, places: list[tuple[int, bytes]], oldest: int
    ) -> list[Record]:
        """Keep a record (None: only take out what has its id); return the candidates, oldest first."""
        rows = self._database.execute(_READ_BUCKETS[len(places)], [bucket for bucket, _ in places])
        buckets = {row[0]: row[1] for row in rows}
        told = dict(buckets)
        if self._tail:
            told = {bucket: _without_old(postings, self._tail) for bucket, postings in buckets.items()}
        hits = [place for place in places if place[1] in told.get(place[0], b"")]  # most texts have none
        same = set(_numbers(told, places[-1]))
        counted = Counter(
            number for place in hits if place is not places[-1] for number in _keep_newest(told, place)
        )
        candidates = {number for number, shared in counted.items() if shared >= SHARED}
        texts = self._texts(candidates | same)
        for number in [number for number, text in texts.items() if text.doc_id == doc_id]:
            self._database.execute("DELETE FROM near_text WHERE id = ?", (number,))
            del texts[number]
        gone = (candidates | same) - texts.keys()
        for place in hits if gone else ():
            _drop(told, place, gone)
        if record is not None:
            added = self._database.execute("INSERT INTO near_text (record) VALUES (?)", (record,)).lastrowid
            assert added is not None
            ending = added.to_bytes(_POSTING - _TAG)
            for bucket, tag in places:
                told[bucket] = told.get(bucket, b"") + tag + ending
        self._write(told, buckets)
        return [texts[number] for number in sorted(candidates & texts.keys()) if texts[number].at >= oldest]

    def _texts(self, numbers: set[int]) -> dict[int, Record]:
        if not numbers:
            return {}
        rows = self._database.execute(
            "SELECT id, record FROM near_text WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {row[0]: unpack(row[1]) for row in rows}

    def _write(self, now: dict[int, bytes], before: dict[int, bytes]) -> None:
        changed = [(bucket, postings) for bucket, postings in now.items() if before.get(bucket) != postings]
        self._database.executemany(
            "INSERT OR REPLACE INTO near_bucket (id, postings) VALUES (?, ?)",
            [one for one in changed if one[1]],
        )
        self._database.executemany(
            "DELETE FROM near_bucket WHERE id = ?",
            [(bucket,) for bucket, postings in changed if not postings],
        )

    def _forget(self, before: int) -> None:
        """Take out the oldest texts, as far as they came before that second."""
        oldest = self._database.execute(
            "SELECT id, record FROM near_text ORDER BY id LIMIT ?", (_FORGET_AT_ONCE,)
        )
        last = None
        for number, record in oldest:
            if int.from_bytes(record[:4]) >= before:
                break
            last = number
        if last is not None:
            self._database.execute("DELETE FROM near_text WHERE id <= ?", (last,))

    def _clear(self) -> None:
        """Take the postings of texts that are gone out of some buckets, which ones is up to chance."""
        (oldest,) = self._database.execute("SELECT min(id) FROM near_text").fetchone()
        self._tail = oldest or 0
        rows = self._database.execute(
            "SELECT id, postings FROM near_bucket WHERE id >= ? ORDER BY id LIMIT ?",
            (self._chance.randrange(_BUCKETS), _CLEAR_AT_ONCE),
        )
        before = {row[0]: row[1] for row in rows}
        tail = oldest or _NO_TEXT
        self._write({bucket: _without_old(postings, tail) for bucket, postings in before.items()}, before)

    def _check_scheme(self) -> None:
        row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row is None:
            with transaction(self._database):
                self._database.execute(
                    "INSERT INTO near_scheme SELECT ? WHERE NOT EXISTS (SELECT 1 FROM near_scheme)",
                    (SCHEME,),
                )
            row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row[0] != SCHEME:
            raise SchemaError(
                f"{self._path}: the near-duplicate index was made another way ({row[0]}; here: {SCHEME}),"
                " and the two cannot be compared; use the newsbot that made it, or make it anew from the"
                " stored texts: scrapy articles reindex --anew"
            )


def empty(path: Path) -> None:
    """Throw the index in the file at ``path`` away, whatever its scheme. Raises :class:`DataError` kinds."""
    with (
        closing(open_database(path, component="dedup", migrations=_MIGRATIONS)) as database,
        readable_errors(path),
        transaction(database),
    ):
        for table in ("near_bucket", "near_text", "near_scheme"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours


def _places(doc_id: str, signature: Signature) -> list[tuple[int, bytes]]:
    """Return bucket and tag of each posting; the last one is that of the id."""
    bits = (posting_hashes(doc_id, signature) >> np.uint64(28)).tolist()
    return [(hash_ >> 16, (hash_ & 0xFFFF).to_bytes(_TAG)) for hash_ in bits]


def _found(postings: bytes, tag: bytes) -> Iterator[int]:
    """Yield where postings with a tag begin, oldest text first."""
    at = postings.find(tag)
    while at >= 0:
        if at % _POSTING == 0:
            yield at
        at = postings.find(tag, at + 1)


def _number(postings: bytes, at: int) -> int:
    return int.from_bytes(postings[at + _TAG : at + _POSTING])


def _numbers(told: dict[int, bytes], place: tuple[int, bytes]) -> list[int]:
    """The texts that are noted at a place."""
    bucket, tag = place
    postings = told.get(bucket)
    return [_number(postings, at) for at in _found(postings, tag)] if postings else []


def _keep_newest(told: dict[int, bytes], place: tuple[int, bytes]) -> list[int]:
    """Leave the newest texts at a place, and return them."""
    numbers = _numbers(told, place)
    if len(numbers) > MAX_CANDIDATES:
        _drop(told, place, set(numbers[:-MAX_CANDIDATES]))
    return numbers[-MAX_CANDIDATES:]


def _drop(told: dict[int, bytes], place: tuple[int, bytes], gone: set[int]) -> None:
    """Take the postings of some texts out of a place."""
    bucket, tag = place
    postings = told.get(bucket, b"")
    for at in reversed(list(_found(postings, tag))):
        if _number(postings, at) in gone:
            postings = postings[:at] + postings[at + _POSTING :]
    told[bucket] = postings


def _without_old(postings: bytes, tail: int) -> bytes:
    """Leave out the postings at the front whose texts are gone: the oldest stand first."""
    at = 0
    while at < len(postings) and _number(postings, at) < tail:
        at += _POSTING
    return postings[at:]
