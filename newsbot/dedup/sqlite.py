"""The near-duplicate index in SQLite. :mod:`newsbot.dedup.index` documents its guarantees.

Lookup and insertion are one transaction. Each text has one row, which holds its record. It also has one
*posting* for each passage and one for its id. A posting is a pair of a hash and the number of the text. A
hash has 32 bits. Its upper 16 bits select one of 65,536 *buckets*, and its lower 16 bits are its *tag*. A
bucket is a row of the database. Each posting in it takes six bytes: the number of the text and the tag. A
bucket begins with the numbers of all its postings, oldest text first. The tags follow in the same order. A
search therefore reads only the tags, which are a third of the bucket. With one row per posting, the index
would need twice as much space.

The postings of a new text are first stored together in one row, and a copy is kept in memory
(:class:`Recent`). If they were written to their buckets immediately, each posting would require writing a
database page. A *chunk* is a group of 1,024 consecutive buckets. The recent postings of one chunk are moved
to its buckets together (:func:`fold`). This reads and writes each bucket of the chunk only once. It takes a
few milliseconds, as part of the insertion that triggers it. Postings of deleted texts are removed when their
bucket is written the next time.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from newsbot.cli.program import PROGRAM
from newsbot.connections.sqlite import migrations_in, open_database, readable_errors, transaction
from newsbot.dedup.index import (
    BUCKETS,
    KEEP,
    MAX_CANDIDATES,
    PASSAGES,
    PIECES_ID,
    SHARED,
    IndexedText,
    Near,
    Signature,
    near_of,
    pack,
    posting_hashes,
    seconds,
    shorten,
    unpack,
)
from newsbot.errors import SchemaError

NUMBER = 4
"""Length of a text's number in bytes."""
TAG = 2
"""Length of a tag in bytes."""
POSTING = NUMBER + TAG
"""Length of a posting in bytes."""
HASH = 4
"""Length of a hash in bytes."""
HASH_BITS = 8 * HASH
TAG_BITS = 8 * TAG
BUCKET_BITS = HASH_BITS - TAG_BITS
NO_TEXT = 1 << 8 * NUMBER
"""A value above the highest possible number of a text."""


def tag_of(hash_: int) -> bytes:
    """Return the tag of a hash. Its bucket is ``hash_ >> TAG_BITS``."""
    return (hash_ & (1 << TAG_BITS) - 1).to_bytes(TAG)


def packed(numbers: list[int]) -> bytes:
    """Encode numbers of texts, or hashes, as one string of bytes."""
    return b"".join([number.to_bytes(NUMBER) for number in numbers])


def unpacked(row: bytes) -> list[int]:
    """Return the numbers, or hashes, that :func:`packed` encoded."""
    return [int.from_bytes(row[at : at + NUMBER]) for at in range(0, len(row), NUMBER)]


def with_tag(bucket: bytes, tag: bytes) -> bytes:
    """Return the packed numbers of the texts that have a tag in a bucket, oldest first."""
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, end)
    if at < 0:  # usually no text has the tag
        return b""
    return b"".join([bucket[place : place + NUMBER] for place in _places(bucket, tag, at)])


def _places(bucket: bytes, tag: bytes, at: int = 0) -> Iterator[int]:
    """Yield the offsets of text numbers in a bucket, for the texts that have ``tag``.

    ``at`` is an offset before which the tag does not occur.
    """
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, max(at, end))
    while at >= 0:
        if (at - end) % TAG == 0:  # otherwise the bytes belong to two adjacent tags
            yield (at - end) // TAG * NUMBER
        at = bucket.find(tag, at + 1)


def join(bucket: bytes, numbers: bytes, tags: bytes) -> bytes:
    """Return a bucket with postings added. Their texts must be newer than all texts in the bucket."""
    middle = len(bucket) // POSTING * NUMBER
    return b"".join((bucket[:middle], numbers, bucket[middle:], tags))


def without_old(bucket: bytes, oldest: bytes) -> bytes:
    """Return a bucket without the postings of texts whose number is below the packed number ``oldest``."""
    # A bucket begins with all numbers in ascending order. Their tags follow in the same order.
    end = len(bucket) // POSTING * NUMBER
    at = 0
    while at < end and bucket[at : at + NUMBER] < oldest:
        at += NUMBER
    return bucket[at:end] + bucket[end + at // NUMBER * TAG :]


def without(bucket: bytes, tag: bytes, gone: set[int]) -> bytes:
    """Return a bucket without the postings that have ``tag`` and belong to the texts ``gone``."""
    end = len(bucket) // POSTING * NUMBER
    numbers, tags = bytearray(bucket[:end]), bytearray(bucket[end:])
    for at in reversed(list(_places(bucket, tag))):  # from the end, so that the other offsets stay valid
        if int.from_bytes(bucket[at : at + NUMBER]) in gone:
            del numbers[at : at + NUMBER]
            del tags[at // NUMBER * TAG : at // NUMBER * TAG + TAG]
    return bytes(numbers + tags)


CHUNK_BITS = 6
CHUNKS = 1 << CHUNK_BITS
"""Number of chunks."""
EVERY = 512
"""A chunk is folded whenever this number of texts has been inserted."""


@dataclass
class Chunk:
    """The recent postings for one chunk of buckets. These postings are not in the buckets yet."""

    upto: int = 0
    """The buckets contain the postings of all texts up to this number."""
    postings: dict[int, bytes] = field(default_factory=dict)
    """Hash -> packed numbers of the texts that have it, oldest first."""
    met: set[int] = field(default_factory=set)
    """Hashes that several texts have.

    When a text with such a hash was inserted, an older text already had it.
    """


class Recent:
    """A copy in memory of the table ``near_recent``.

    Use it only inside a transaction that holds the file's write lock.
    """

    def __init__(self) -> None:
        self.newest = 0
        """The highest number of a text in this copy."""
        self._version = -1
        self._chunks = [Chunk() for _ in range(CHUNKS)]

    def catch_up(self, database: sqlite3.Connection) -> None:
        """Read the changes that other processes made: new postings and folded chunks."""
        # the version changes only when another connection commits
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        folded = database.execute("SELECT id, upto FROM near_chunk WHERE upto > ?", (self.last_turn,))
        # The folded chunks must be read first, so that ``add`` does not add their postings again.
        for chunk, upto in folded.fetchall():
            self._chunks[chunk] = Chunk(upto)
        rows = database.execute("SELECT id, hashes, met FROM near_recent WHERE id > ?", (self.newest,))
        for number, hashes, met in rows:
            self.add(number, unpacked(hashes), unpacked(met))
        self._version = version

    def under(self, hashes: list[int]) -> dict[int, bytes]:
        """Return the packed numbers of the texts that have each hash, oldest first.

        Hashes without a recent text are left out.
        """
        chunks, shift = self._chunks, HASH_BITS - CHUNK_BITS
        return {hash_: row for hash_ in hashes if (row := chunks[hash_ >> shift].postings.get(hash_))}

    def add(self, number: int, hashes: list[int], met: list[int]) -> None:
        """Add the postings of a text that is newer than all other texts.

        A posting whose chunk was already folded up to this text is not added. ``met`` are the hashes of the
        text that other texts have too.
        """
        number_bytes = number.to_bytes(NUMBER)
        for hash_ in hashes:
            chunk = self.chunk_of(hash_)
            # The buckets already have all texts up to this number.
            if number > chunk.upto:
                here = chunk.postings.get(hash_)
                chunk.postings[hash_] = number_bytes if here is None else here + number_bytes
        for hash_ in met:
            chunk = self.chunk_of(hash_)
            if number > chunk.upto:
                chunk.met.add(hash_)
        self.newest = number

    def leave_out(self, hash_: int, gone: set[int]) -> None:
        """Remove the texts ``gone`` from the postings of a hash."""
        postings = self.chunk_of(hash_).postings
        if hash_ in postings:
            postings[hash_] = packed([number for number in unpacked(postings[hash_]) if number not in gone])

    def chunk_of(self, hash_: int) -> Chunk:
        """Return the chunk that contains the bucket of a hash."""
        return self._chunks[hash_ >> HASH_BITS - CHUNK_BITS]

    def due(self) -> int | None:
        """Return the number of the chunk to fold now; None if no chunk is due."""
        # One chunk is folded after every 512 texts, in rotation, so each chunk is folded after 32,768 texts.
        # An insertion that stored no text does not change ``newest``. Because of the second condition, such
        # an insertion does not fold the chunk again.
        turn = self.newest // EVERY % CHUNKS
        return turn if self.newest % EVERY == 0 and self._chunks[turn].upto < self.newest else None

    def take(self, number: int) -> Chunk:
        """Return the chunk with this number, which will be folded, and put an empty chunk in its place."""
        taken = self._chunks[number]
        self._chunks[number] = Chunk(self.newest)
        return taken

    @property
    def last_turn(self) -> int:
        """The highest number of a text up to which any chunk is folded."""
        return max(chunk.upto for chunk in self._chunks)

    @property
    def folded(self) -> int:
        """The number of the text up to which all chunks are folded."""
        return min(chunk.upto for chunk in self._chunks)


_LOOKED_AT = 4 * MAX_CANDIDATES
"""Maximum number of texts that are checked per hash, the newest first. It is higher than ``MAX_CANDIDATES``,
because some of these texts may be deleted."""

Buckets = dict[int, bytes]
"""Id of a bucket -> its encoded postings."""


def fold(database: sqlite3.Connection, recent: Recent, turn: int) -> None:
    """Write the recent postings of the chunk with number ``turn`` to its buckets.

    Call it in a transaction, after :meth:`Recent.catch_up`.
    """
    before = _read_buckets(database, turn)
    (oldest,) = database.execute("SELECT min(id) FROM near_text").fetchone()
    # Packed numbers sort in the same order as the numbers. If there are no texts, all postings are too old.
    first = packed([oldest or NO_TEXT - 1])
    now = dict(before)
    # Buckets are sorted by age, so the first number shows whether any posting is too old.
    for bucket, postings in before.items():
        if postings[:NUMBER] < first:
            now[bucket] = without_old(postings, first)
    chunk = recent.take(turn)
    _tidy(database, chunk, now)
    for bucket, numbers, tags in _by_bucket(chunk.postings):
        # join() requires newer texts. All texts in the chunk are newer than its last fold.
        now[bucket] = join(now.get(bucket, b""), numbers, tags)
    _write_buckets(database, now, before)
    database.execute("INSERT OR REPLACE INTO near_chunk (id, upto) VALUES (?, ?)", (turn, recent.newest))
    # Each row has postings of many chunks. It is deleted when the last of these chunks is folded.
    database.execute("DELETE FROM near_recent WHERE id <= ?", (recent.folded,))


def newest_living(database: sqlite3.Connection, numbers: bytes) -> list[int]:
    """Return the numbers of the newest texts among the packed ``numbers``, at most ``MAX_CANDIDATES``.

    If there are more than ``MAX_CANDIDATES`` numbers, the numbers of deleted texts are left out. Otherwise
    they are returned too, and the caller notices the deletion when it reads the texts.
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
    """Yield (id, packed numbers of texts, tags) for each bucket that gets postings, oldest text first."""
    lengths = np.fromiter(map(len, postings.values()), np.intp, len(postings))  # empty for an empty index
    hashes = np.repeat(np.fromiter(postings, np.uint64, len(postings)), lengths // NUMBER)
    numbers = np.frombuffer(b"".join(postings.values()), dtype=">u4").astype(np.uint64)
    number_bits = 8 * NUMBER
    # Each row is one integer of 64 bits: bucket, number of the text, tag. A single sort then orders them all.
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


def _read_buckets(database: sqlite3.Connection, turn: int) -> Buckets:
    """Return the buckets of the chunk with number ``turn``."""
    buckets = 1 << BUCKET_BITS - CHUNK_BITS
    rows = database.execute(
        "SELECT id, postings FROM near_bucket WHERE id >= ? AND id < ?",
        (turn * buckets, (turn + 1) * buckets),
    )
    return dict(rows.fetchall())


def _write_buckets(database: sqlite3.Connection, now: Buckets, before: Buckets) -> None:
    changed = [(bucket, postings) for bucket, postings in now.items() if before.get(bucket) != postings]
    database.executemany(
        "INSERT OR REPLACE INTO near_bucket (id, postings) VALUES (?, ?)",
        [one for one in changed if one[1]],
    )
    database.executemany(
        "DELETE FROM near_bucket WHERE id = ?", [(bucket,) for bucket, postings in changed if not postings]
    )


SCHEME = f"{BUCKETS} pieces={PIECES_ID}"
"""Parameters of signatures and passages, and the encoding of records. They must be the same in all processes
that use one index."""

_MIGRATIONS = migrations_in("dedup")
_FORGET_EVERY = 64  # number of insertions between two deletions of old texts
_FORGET_AT_ONCE = 256  # maximum number of texts deleted at once; it is higher than _FORGET_EVERY
_CHECKPOINT_PAGES = 16_000
"""When SQLite's write-ahead log has this number of pages, a checkpoint copies them to the file.

Writing a chunk changes pages in all parts of the file. The more chunks one checkpoint covers, the fewer pages
are written more than once. The log must stay within its limit (``journal_size_limit``).
"""

_READ_BUCKETS = {
    count: f"SELECT id, postings FROM near_bucket WHERE id IN ({', '.join('?' * count)})"  # noqa: S608 - only question marks
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

    def check_and_insert(self, doc_id: str, site: str, signature: Signature, at: float) -> list[Near]:
        """See :meth:`newsbot.dedup.index.NearIndex.check_and_insert`."""
        moment = seconds(at)
        record = pack(doc_id, shorten(doc_id), site, signature, moment) if signature.comparable else None
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
    def _insert(self, doc_id: str, record: bytes | None, hashes: list[int], oldest: int) -> list[IndexedText]:
        """Store a record and delete the earlier text with this id. Return the candidates, oldest first.

        If ``record`` is None, only the earlier text is deleted.
        """
        recent = self._recent
        recent.catch_up(self._database)
        turn = recent.due()
        if turn is not None:
            fold(self._database, recent, turn)
        postings = self._postings_of(hashes)
        # The texts that have the hash of this id: usually the earlier text with this id, or none. Two ids may
        # have the same 32-bit hash, so the ids themselves are compared below.
        same = set(unpacked(postings.get(hashes[-1], b"")))
        counted = Counter(
            number
            for hash_ in postings.keys() & hashes[:-1]
            for number in newest_living(self._database, postings[hash_])
        )
        candidates = {number for number, shared in counted.items() if shared >= SHARED}
        texts = self._texts(candidates | same)
        for number in [number for number, text in texts.items() if text.doc_id == doc_id]:
            self._database.execute("DELETE FROM near_text WHERE id = ?", (number,))
            del texts[number]
        # the deleted texts whose postings were found, and the text that was just replaced
        gone = (candidates | same) - texts.keys()
        # These texts are now removed from the postings in memory. They are removed from a bucket when it is
        # folded.
        for hash_ in postings if gone else ():
            recent.leave_out(hash_, gone)
        if record is not None:
            self._keep(record, hashes, list(postings))
        return [texts[number] for number in sorted(candidates & texts.keys()) if texts[number].at >= oldest]

    def _postings_of(self, hashes: list[int]) -> dict[int, bytes]:
        """Return the packed numbers of the texts that have each hash. Hashes without a text are left out."""
        rows = self._database.execute(_READ_BUCKETS[len(hashes)], [hash_ >> TAG_BITS for hash_ in hashes])
        buckets, recent = dict(rows.fetchall()), self._recent.under(hashes)
        postings = dict(recent)
        for hash_ in hashes:
            there = with_tag(buckets.get(hash_ >> TAG_BITS, b""), tag_of(hash_))
            if there:
                postings[hash_] = there + recent.get(hash_, b"")
        return postings

    def _keep(self, record: bytes, hashes: list[int], met: list[int]) -> None:
        number = self._database.execute("INSERT INTO near_text (record) VALUES (?)", (record,)).lastrowid
        assert number is not None
        self._database.execute(
            "INSERT INTO near_recent (id, hashes, met) VALUES (?, ?, ?)",
            (number, packed(hashes), packed(met)),
        )
        self._recent.add(number, hashes, met)

    def _texts(self, numbers: set[int]) -> dict[int, IndexedText]:
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
            # The first four bytes are the fetch time. The following texts were fetched at about the same time
            # or later.
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
                f"{self._path}: the near-duplicate index has format {row[0]}, but newsbot now needs {SCHEME};"
                " run the version of newsbot that made the index, or rebuild the index from the"
                f" stored texts: {PROGRAM} articles reindex --anew"
            )


def empty(path: Path) -> None:
    """Delete the index in the file at ``path``, whatever its scheme is. Raises subclasses of
    :class:`newsbot.errors.DataError`."""
    with (
        closing(open_database(path, component="dedup", migrations=_MIGRATIONS)) as database,
        readable_errors(path),
        transaction(database),
    ):
        for table in ("near_chunk", "near_recent", "near_bucket", "near_text", "near_scheme"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - constant names


def _hashes(doc_id: str, signature: Signature) -> list[int]:
    """Return the hashes under which a text is indexed, 32 bits each; the last one is the hash of the id."""
    hashes: list[int] = (posting_hashes(doc_id, signature) >> np.uint64(64 - HASH_BITS)).tolist()
    return hashes
