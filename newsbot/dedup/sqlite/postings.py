"""Encodes the postings of many texts in one row, and holds the recent postings in memory.

A *posting* says that the text with a certain number has a certain hash. A hash has 32 bits. Its upper 16 bits
select one of 65,536 *buckets*, and its lower 16 bits are its *tag*. A bucket is a row of the database, in
which a posting takes six bytes: the number of the text and the tag. A bucket begins with the numbers of all
its postings, oldest text first. The tags follow in the same order. A search therefore reads only the tags,
which are a third of the bucket.

A *chunk* is a group of 1,024 consecutive buckets. Recent postings are not in their buckets yet. The postings
of one chunk are moved to its buckets together (:mod:`newsbot.dedup.sqlite.buckets`). This is called
*folding* the chunk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

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
    """Yield the offsets in a bucket of the numbers of texts that have ``tag``.

    The caller knows that the tag does not occur before the offset ``at``.
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
    end = len(bucket) // POSTING * NUMBER
    at = 0
    while at < end and bucket[at : at + NUMBER] < oldest:
        at += NUMBER
    return bucket[at:end] + bucket[end + at // NUMBER * TAG :]


def without(bucket: bytes, tag: bytes, gone: set[int]) -> bytes:
    """Return a bucket without the postings of the texts ``gone`` that have ``tag``."""
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
"""Number of inserted texts after which the next chunk is folded."""


@dataclass
class Chunk:
    """The recent postings of one chunk of buckets, which are not in the buckets yet."""

    upto: int = 0
    """The buckets contain the postings of all texts up to this number."""
    postings: dict[int, bytes] = field(default_factory=dict)
    """Hash -> packed numbers of the texts that have it, oldest first."""
    met: set[int] = field(default_factory=set)
    """Hashes that several texts have: when a text was inserted, an older text already had the hash."""


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
        """Add the postings of a text that is newer than all others.

        A posting whose chunk was already folded up to this text is not added. ``met`` are those of the text's
        hashes that other texts have too.
        """
        noted = number.to_bytes(NUMBER)
        for hash_ in hashes:
            chunk = self.chunk_of(hash_)
            # The buckets already have all texts up to this number.
            if number > chunk.upto:
                here = chunk.postings.get(hash_)
                chunk.postings[hash_] = noted if here is None else here + noted
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
        turn = self.newest // EVERY % CHUNKS
        return turn if self.newest % EVERY == 0 and self._chunks[turn].upto < self.newest else None

    def take(self, number: int) -> Chunk:
        """Return the chunk with this number, which will be folded, and replace it by an empty one."""
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
