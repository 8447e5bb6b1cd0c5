"""The near-duplicate index: which texts seen lately resemble this one.

Locality-sensitive hashing by bands: two signatures that agree in all values of a band are candidates;
candidates are then compared by their stored signatures, so that only real resemblance comes back.
With 16 bands of 4 values a pair of similarity .5 / .6 / .7 / .8 is found with a chance of
.64 / .89 / .99 / 1.0, and texts in the same story find each other through third ones as well.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.minhash import SCHEME, Signature, similarities
from newsbot.errors import SchemaError
from newsbot.sqlitefile import open_database, readable_errors, transaction

BANDS = 16
ROWS = 4
THRESHOLD = 0.5
"""Estimated similarity from which a text comes back as near."""
MAX_CANDIDATES = 200
"""The newest texts of one bucket that are compared; a template may fill a bucket with any number."""
KEEP = 30 * 86400.0
"""Seconds after which a text is forgotten here: news is copied within days."""
_FORGET_EVERY = 64  # insertions between two clearings
_FORGET_AT_ONCE = 256  # texts that one clearing may take: more than come in between, so that it keeps up
_MULTIPLIERS = np.array(  # odd 64-bit numbers: multilinear hashing of a band's four values
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64
)

BUCKETS = f"{SCHEME} bands={BANDS}x{ROWS} bits=4"
"""What two indexes must share for their answers to be the same."""


@dataclass(frozen=True, slots=True)
class Near:
    """A text that resembles the one asked about."""

    doc_id: str
    source: str
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1."""


class NearIndex(Protocol):
    """Texts by resemblance. Any number of processes may share one; faults are :class:`DataError`."""

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """Return the texts like this one, best first, and add it, in one atomic step.

        Of two processes that insert like texts at the same instant, at least one sees the other.
        The same ``doc_id`` again replaces what was kept under it and never comes back itself. ``at``
        (POSIX seconds) is the time of the fetch, which no site can forge: texts that came more than
        ``KEEP`` seconds before are forgotten.
        A signature that is not comparable is not kept, and nothing resembles it.
        """

    def count(self) -> int:
        """How many texts are kept."""

    def close(self) -> None:
        """Release the backend."""


_MIGRATIONS = (
    """
    -- What the signatures below were made by. One row.
    CREATE TABLE near_scheme (scheme TEXT NOT NULL);

    CREATE TABLE near_doc (
        id        INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with time and is never used twice
        key       BLOB NOT NULL UNIQUE,               -- hash of doc_id: an index on URLs is thrice as big
        doc_id    TEXT NOT NULL,
        source    TEXT NOT NULL,
        at        REAL NOT NULL,
        signature BLOB NOT NULL,                      -- 128 values of 4 bits
        shingles  INTEGER NOT NULL,
        bands     BLOB NOT NULL                       -- its 16 buckets, to find them again when it goes
    );

    -- The buckets: 4 bits number of the band, 28 bits hash of its values. Newest text last.
    CREATE TABLE near_band (
        bucket INTEGER NOT NULL,
        doc    INTEGER NOT NULL,
        PRIMARY KEY (bucket, doc)
    ) WITHOUT ROWID;
    """,
)

_CANDIDATES = " UNION ".join(
    f"SELECT doc FROM (SELECT doc FROM near_band WHERE bucket = ? ORDER BY doc DESC LIMIT {MAX_CANDIDATES})"  # noqa: S608 - a number of ours
    for _ in range(BANDS)
)


class SqliteIndex:
    """:class:`NearIndex` in the embedded data file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._insertions = 0
        self._database = open_database(path, component="dedup", migrations=_MIGRATIONS)
        try:
            with readable_errors(path):
                self._check_scheme()
        except BaseException:
            self._database.close()
            raise

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """See :meth:`NearIndex.check_and_insert`."""
        key = blake2b(doc_id.encode(), digest_size=12).digest()
        with readable_errors(self._path), transaction(self._database):
            self._remove("key = ?", (key,))
            self._forget(at - KEEP)
            if not signature.comparable:
                return []
            packed, buckets = signature.packed(), _buckets(signature)
            found = self._near(packed, buckets, at - KEEP)
            row = (key, doc_id, source, at, packed, signature.shingles, np.array(buckets, "<i4").tobytes())
            inserted = self._database.execute(
                "INSERT INTO near_doc (key, doc_id, source, at, signature, shingles, bands)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            self._database.executemany(
                "INSERT INTO near_band VALUES (?, ?)", [(bucket, inserted.lastrowid) for bucket in buckets]
            )
        return found

    def count(self) -> int:
        """See :meth:`NearIndex.count`."""
        with readable_errors(self._path):
            return int(self._database.execute("SELECT count(*) FROM near_doc").fetchone()[0])

    def close(self) -> None:
        """See :meth:`NearIndex.close`."""
        self._database.close()

    def _near(self, packed: bytes, buckets: list[int], oldest: float) -> list[Near]:
        candidates = [row[0] for row in self._database.execute(_CANDIDATES, buckets)]
        if not candidates:
            return []
        rows = self._database.execute(
            "SELECT doc_id, source, signature FROM near_doc"
            " WHERE id IN (SELECT value FROM json_each(?)) AND at >= ? ORDER BY id",
            (json.dumps(candidates), oldest),
        ).fetchall()
        found = [
            Near(row["doc_id"], row["source"], float(estimate))
            for row, estimate in zip(
                rows, similarities(packed, [row["signature"] for row in rows]), strict=True
            )
            if estimate >= THRESHOLD
        ]
        return sorted(found, key=lambda near: -near.similarity)  # the earliest first among equals

    def _forget(self, before: float) -> None:
        self._insertions += 1
        if self._insertions % _FORGET_EVERY == 0:
            oldest = "id IN (SELECT id FROM near_doc ORDER BY id LIMIT ?) AND at < ?"
            self._remove(oldest, (_FORGET_AT_ONCE, before))

    def _remove(self, which: str, values: tuple[object, ...]) -> None:
        gone = self._database.execute(f"SELECT id, bands FROM near_doc WHERE {which}", values).fetchall()  # noqa: S608 - ours
        for row in gone:
            self._database.executemany(
                "DELETE FROM near_band WHERE bucket = ? AND doc = ?",
                [(int(bucket), row["id"]) for bucket in np.frombuffer(row["bands"], "<i4")],
            )
            self._database.execute("DELETE FROM near_doc WHERE id = ?", (row["id"],))

    def _check_scheme(self) -> None:
        row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row is None:
            with transaction(self._database):
                self._database.execute(
                    "INSERT INTO near_scheme SELECT ? WHERE NOT EXISTS (SELECT 1 FROM near_scheme)",
                    (BUCKETS,),
                )
            row = self._database.execute("SELECT scheme FROM near_scheme").fetchone()
        if row[0] != BUCKETS:
            raise SchemaError(
                f"{self._path}: the near-duplicate index was made another way ({row[0]}; here: {BUCKETS}),"
                " and the two cannot be compared; use the newsbot that made it, or empty the tables near_doc,"
                " near_band and near_scheme: only the last 30 days of resemblance are forgotten"
            )


def band_hashes(signature: Signature) -> NDArray[np.uint64]:
    """Return the hash of each band's values; the upper bits are the good ones."""
    bands = signature.values[: BANDS * ROWS].astype(np.uint64).reshape(BANDS, ROWS)
    hashes: NDArray[np.uint64] = (bands * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
    return hashes


def _buckets(signature: Signature) -> list[int]:
    """One bucket a band: number and hash in 32 bits with sign, which SQLite keeps in four bytes."""
    hashes = band_hashes(signature) >> np.uint64(64 - 28)
    numbered = np.arange(BANDS, dtype=np.int64) << 28 | hashes.astype(np.int64)
    return [int(bucket) for bucket in numbered - (1 << 31)]
