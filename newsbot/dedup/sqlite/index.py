"""The near-duplicate index in SQLite. :mod:`newsbot.dedup.index` documents its guarantees.

Lookup and insertion are one transaction. A text is one row (:mod:`newsbot.dedup.record`). It has one posting
(a pair of a hash and the number of the text) for each passage and one for its id. The postings of a new text
are first stored together in one row. Later they are moved into 65,536 buckets. A bucket is one row with the
postings of many texts. With one row per posting, the index would need twice the space. If postings were
written to their buckets immediately, each posting would require writing a database page. Postings of deleted
texts are removed when their bucket is written the next time.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np

from newsbot.connections.sqlite import open_database, readable_errors, transaction
from newsbot.dedup.index import BUCKETS, KEEP, SHARED, Near, near_of, posting_hashes
from newsbot.dedup.minhash import PASSAGES, Signature
from newsbot.dedup.record import PIECES_ID, Record, pack, seconds, shorten, unpack
from newsbot.dedup.sqlite.buckets import fold, newest_living
from newsbot.dedup.sqlite.postings import HASH_BITS, TAG_BITS, Recent, packed, tag_of, unpacked, with_tag
from newsbot.errors import SchemaError

SCHEME = f"{BUCKETS} pieces={PIECES_ID}"
"""Parameters of the index. All processes that use one index must have the same: those of signatures and
passages, and the encoding of records."""

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
    """
    -- Never released either.
    DELETE FROM near_text;
    DELETE FROM near_bucket;
    DELETE FROM near_scheme;

    -- The postings of a text until all chunks of buckets have theirs: 17 hashes of 32 bits.
    -- near_bucket, from here on: 16 bits of the hash are its id, 16 stand in the posting.
    CREATE TABLE near_recent (
        id     INTEGER PRIMARY KEY,  -- of the text
        hashes BLOB NOT NULL,
        met    BLOB NOT NULL         -- those that another text had
    );
    CREATE TABLE near_chunk (
        id   INTEGER PRIMARY KEY,  -- so many buckets: newsbot/dedup/sqlite/postings.py
        upto INTEGER NOT NULL      -- its buckets have all texts up to this one
    );
    """,
)
_FORGET_EVERY = 64  # number of insertions after which old texts are deleted again
_FORGET_AT_ONCE = 256  # maximum number of texts deleted at once: more than are inserted in between
_CHECKPOINT_PAGES = 16_000
"""Number of pages in SQLite's write-ahead log from which a checkpoint copies them to the file.

Writing a chunk changes pages all over the file. The more chunks one checkpoint covers, the fewer pages are
written twice. The log must stay within its limit (``journal_size_limit``).
"""

_READ_BUCKETS = {
    count: f"SELECT id, postings FROM near_bucket WHERE id IN ({', '.join('?' * count)})"  # noqa: S608 - signs of ours
    for count in range(1, PASSAGES + 2)
}


class SqliteIndex:
    """A :class:`newsbot.dedup.index.NearIndex` in the file at ``path``, for any number of processes.

    ``keep`` is the number of seconds after which a text is forgotten.
    """

    place = "data file"
    is_local = True

    def __init__(self, path: Path, *, keep: float = KEEP) -> None:
        self.keep = keep
        self._path = path
        self._insertions = 0
        self._recent = Recent()
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
        hashes = _hashes(doc_id, signature)
        oldest = moment - int(self.keep)
        try:
            with readable_errors(self._path), transaction(self._database):
                if self._insertions % _FORGET_EVERY == 0:
                    self._forget(oldest)
                self._insertions += 1
                found = self._insert(doc_id, record, hashes, oldest)
        except BaseException:
            self._recent = Recent()  # it may hold postings that were rolled back
            raise
        return near_of(signature, found) if found and record else []

    def count(self) -> int:
        """See :meth:`newsbot.dedup.index.NearIndex.count`."""
        with readable_errors(self._path):
            return int(self._database.execute("SELECT count(*) FROM near_text").fetchone()[0])

    def close(self) -> None:
        """See :meth:`newsbot.dedup.index.NearIndex.close`."""
        self._database.close()

    # --- inside
    def _insert(self, doc_id: str, record: bytes | None, hashes: list[int], oldest: int) -> list[Record]:
        """Store a record and delete the earlier text with this id. Return the candidates, oldest first.

        If ``record`` is None, only the earlier text is deleted.
        """
        recent = self._recent
        recent.catch_up(self._database)
        turn = recent.due()
        if turn is not None:
            fold(self._database, recent, turn)
        told = self._told(hashes)
        # The texts that have the hash of this id: usually the earlier text with this id, or none. Two ids may
        # have the same 32-bit hash, so the ids themselves are compared below.
        same = set(unpacked(told.get(hashes[-1], b"")))
        counted = Counter(
            number
            for hash_ in told.keys() & hashes[:-1]
            for number in newest_living(self._database, told[hash_])
        )
        candidates = {number for number, shared in counted.items() if shared >= SHARED}
        texts = self._texts(candidates | same)
        for number in [number for number, text in texts.items() if text.doc_id == doc_id]:
            self._database.execute("DELETE FROM near_text WHERE id = ?", (number,))
            del texts[number]
        # the deleted texts whose postings were found, and the text that was just replaced
        gone = (candidates | same) - texts.keys()
        for hash_ in told if gone else ():
            recent.leave_out(hash_, gone)
        if record is not None:
            self._keep(record, hashes, list(told))
        return [texts[number] for number in sorted(candidates & texts.keys()) if texts[number].at >= oldest]

    def _told(self, hashes: list[int]) -> dict[int, bytes]:
        """Return the packed numbers of the texts that have each hash. Hashes without a text are left out."""
        rows = self._database.execute(_READ_BUCKETS[len(hashes)], [hash_ >> TAG_BITS for hash_ in hashes])
        buckets, noted = dict(rows.fetchall()), self._recent.under(hashes)
        told = dict(noted)
        for hash_ in hashes:
            there = with_tag(buckets.get(hash_ >> TAG_BITS, b""), tag_of(hash_))
            if there:
                told[hash_] = there + noted.get(hash_, b"")
        return told

    def _keep(self, record: bytes, hashes: list[int], met: list[int]) -> None:
        number = self._database.execute("INSERT INTO near_text (record) VALUES (?)", (record,)).lastrowid
        assert number is not None
        self._database.execute(
            "INSERT INTO near_recent (id, hashes, met) VALUES (?, ?, ?)",
            (number, packed(hashes), packed(met)),
        )
        self._recent.add(number, hashes, met)

    def _texts(self, numbers: set[int]) -> dict[int, Record]:
        if not numbers:
            return {}
        rows = self._database.execute(
            "SELECT id, record FROM near_text WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {row[0]: unpack(row[1]) for row in rows}

    def _forget(self, before: int) -> None:
        """Delete the oldest texts that were fetched before ``before`` (POSIX seconds)."""
        oldest = self._database.execute(
            "SELECT id, record FROM near_text ORDER BY id LIMIT ?", (_FORGET_AT_ONCE,)
        )
        last = None
        for number, record in oldest:
            # the first four bytes are the fetch time; the following texts were fetched about then or later
            if int.from_bytes(record[:4]) >= before:
                break
            last = number
        if last is not None:
            self._database.execute("DELETE FROM near_text WHERE id <= ?", (last,))

    def _check_scheme(self) -> None:
        row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row is None:  # a new index; another process may be creating it at the same time
            with transaction(self._database):
                self._database.execute(
                    "INSERT INTO near_scheme SELECT ? WHERE NOT EXISTS (SELECT 1 FROM near_scheme)",
                    (SCHEME,),
                )
            row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row[0] != SCHEME:
            raise SchemaError(
                f"{self._path}: the near-duplicate index has another format ({row[0]}; here: {SCHEME}),"
                " which cannot be used; run the version of newsbot that made it, or rebuild it from the"
                " stored texts: scrapy articles reindex --anew"
            )


def empty(path: Path) -> None:
    """Delete the index of any scheme in the file at ``path``. Raises subclasses of :class:`DataError`."""
    with (
        closing(open_database(path, component="dedup", migrations=_MIGRATIONS)) as database,
        readable_errors(path),
        transaction(database),
    ):
        for table in ("near_chunk", "near_recent", "near_bucket", "near_text", "near_scheme"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours


def _hashes(doc_id: str, signature: Signature) -> list[int]:
    """Return the hashes under which a text is indexed, 32 bits each; the last one is the hash of the id."""
    hashes: list[int] = (posting_hashes(doc_id, signature) >> np.uint64(64 - HASH_BITS)).tolist()
    return hashes
