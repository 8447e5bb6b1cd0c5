"""Encodes the postings (hash -> number of a text) of many texts in one row, and holds recent ones in memory.

A hash has 32 bits. The upper 16 bits select one of 65,536 buckets; the lower 16 bits are its *tag*. A posting
is a tag and the number of a text, six bytes together. A bucket stores all its numbers first, oldest text
first, and then the tags in the same order. A search therefore scans only the tags, a third of the bucket.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

NUMBER = 4
"""Bytes of a text's number."""
TAG = 2
"""Bytes of a tag."""
POSTING = NUMBER + TAG
HASH = 4
"""Bytes of a hash."""
HASH_BITS = 8 * HASH
TAG_BITS = 8 * TAG
BUCKET_BITS = HASH_BITS - TAG_BITS
NO_TEXT = 1 << 8 * NUMBER
"""Higher than any number."""


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
    """Return the numbers of texts with this tag in a bucket, packed, oldest first."""
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, end)
    if at < 0:  # the usual case
        return b""
    return b"".join([bucket[place : place + NUMBER] for place in _places(bucket, tag, at)])


def _places(bucket: bytes, tag: bytes, at: int = 0) -> Iterator[int]:
    """Yield the offsets of the numbers with a tag. The tag does not occur before ``at``."""
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, max(at, end))
    while at >= 0:
        if (at - end) % TAG == 0:  # else these are parts of two tags
            yield (at - end) // TAG * NUMBER
        at = bucket.find(tag, at + 1)


def join(bucket: bytes, numbers: bytes, tags: bytes) -> bytes:
    """Return a bucket with postings added. They must be younger than all postings in it."""
    middle = len(bucket) // POSTING * NUMBER
    return b"".join((bucket[:middle], numbers, bucket[middle:], tags))


def without_old(bucket: bytes, oldest: bytes) -> bytes:
    """Return a bucket without the texts below the packed number ``oldest``."""
    end = len(bucket) // POSTING * NUMBER
    at = 0
    while at < end and bucket[at : at + NUMBER] < oldest:
        at += NUMBER
    return bucket[at:end] + bucket[end + at // NUMBER * TAG :]


def without(bucket: bytes, tag: bytes, gone: set[int]) -> bytes:
    """Return a bucket without the postings of some texts under a tag."""
    end = len(bucket) // POSTING * NUMBER
    numbers, tags = bytearray(bucket[:end]), bytearray(bucket[end:])
    for at in reversed(list(_places(bucket, tag))):  # from the end, so that the other offsets stay valid
        if int.from_bytes(bucket[at : at + NUMBER]) in gone:
            del numbers[at : at + NUMBER]
            del tags[at // NUMBER * TAG : at // NUMBER * TAG + TAG]
    return bytes(numbers + tags)


CHUNK_BITS = 6
CHUNKS = 1 << CHUNK_BITS
EVERY = 512
"""Texts between two turns, in each of which one chunk of buckets is written."""


@dataclass
class Chunk:
    """The recent postings of one chunk of buckets, which are not in the buckets yet."""

    upto: int = 0
    """The buckets have all texts up to this number."""
    postings: dict[int, bytes] = field(default_factory=dict)
    """Packed numbers of texts by hash, oldest first."""
    met: set[int] = field(default_factory=set)
    """Hashes that an older text already had when a younger one was inserted."""


class Recent:
    """A copy of ``near_recent`` in memory. Use it only inside the transaction that holds the file's lock."""

    def __init__(self) -> None:
        self.newest = 0
        """The highest number of a text in this copy."""
        self._version = -1
        self._chunks = [Chunk() for _ in range(CHUNKS)]

    def catch_up(self, database: sqlite3.Connection) -> None:
        """Read the changes of other processes: new postings and folded chunks."""
        # the version changes only when another connection commits
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        folded = database.execute("SELECT id, upto FROM near_chunk WHERE upto > ?", (self.last_turn,))
        # Chunks that other processes have folded come first: their postings are then not added again.
        for chunk, upto in folded.fetchall():
            self._chunks[chunk] = Chunk(upto)
        rows = database.execute("SELECT id, hashes, met FROM near_recent WHERE id > ?", (self.newest,))
        for number, hashes, met in rows:
            self.add(number, unpacked(hashes), unpacked(met))
        self._version = version

    def under(self, hashes: list[int]) -> dict[int, bytes]:
        """Return hash -> packed numbers of texts, oldest first. Hashes without a text are left out."""
        chunks, shift = self._chunks, HASH_BITS - CHUNK_BITS
        return {hash_: row for hash_ in hashes if (row := chunks[hash_ >> shift].postings.get(hash_))}

    def add(self, number: int, hashes: list[int], met: list[int]) -> None:
        """Add a text that is younger than all others, except to chunks that already contain it.

        ``met`` are those of its hashes that other texts have too.
        """
        noted = number.to_bytes(NUMBER)
        for hash_ in hashes:
            chunk = self.chunk_of(hash_)
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
        """Return the chunk to be folded and replace it by an empty one."""
        taken = self._chunks[number]
        self._chunks[number] = Chunk(self.newest)
        return taken

    @property
    def last_turn(self) -> int:
        """The highest number up to which any chunk is folded."""
        return max(chunk.upto for chunk in self._chunks)

    @property
    def folded(self) -> int:
        """The number up to which all chunks are folded."""
        return min(chunk.upto for chunk in self._chunks)
