"""Postings that are in no bucket yet, read from the file once and kept in memory.

To write a text's postings into their buckets at once would write a page for each. So they are noted together
in one row (``near_recent``), and each :data:`EVERY` texts the next *chunk* of all buckets takes what is meant
for it (:mod:`newsbot.dedup.sqlite.folding`): after :data:`CHUNKS` such turns the row is not needed any more.
Every process has the postings of these rows in memory, up to 280,000 of them.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from newsbot.dedup.sqlite.postings import HASH_BITS, NUMBER, packed, unpacked

CHUNK_BITS = 6
CHUNKS = 1 << CHUNK_BITS
EVERY = 512
"""Texts between two turns."""


@dataclass
class Chunk:
    """What its buckets do not have yet."""

    upto: int = 0
    """They have all texts up to this number."""
    postings: dict[int, bytes] = field(default_factory=dict)
    """Packed numbers of texts by hash, oldest first."""
    met: set[int] = field(default_factory=set)
    """Hashes that an older text had when a younger one came."""


class Recent:
    """What is in ``near_recent``; ask and change it inside the transaction that holds the file's lock."""

    def __init__(self) -> None:
        self.newest = 0
        """The highest number of a text that was noted here."""
        self._version = -1
        self._chunks = [Chunk() for _ in range(CHUNKS)]

    def catch_up(self, database: sqlite3.Connection) -> None:
        """Read what other processes have noted and folded."""
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        folded = database.execute("SELECT id, upto FROM near_chunk WHERE upto > ?", (self.last_turn,))
        for chunk, upto in folded.fetchall():
            self._chunks[chunk] = Chunk(upto)
        rows = database.execute("SELECT id, hashes, met FROM near_recent WHERE id > ?", (self.newest,))
        for number, hashes, met in rows:
            self.add(number, unpacked(hashes), unpacked(met))
        self._version = version

    def under(self, hashes: list[int]) -> dict[int, bytes]:
        """Return the texts that are noted under each of some hashes, packed, oldest first; few have any."""
        chunks, shift = self._chunks, HASH_BITS - CHUNK_BITS
        return {hash_: row for hash_ in hashes if (row := chunks[hash_ >> shift].postings.get(hash_))}

    def add(self, number: int, hashes: list[int], met: list[int]) -> None:
        """Note a text, younger than all that are here, as far as its chunks were not folded since.

        ``met``: those of its hashes that other texts have.
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
        """Forget texts that are noted under a hash."""
        postings = self.chunk_of(hash_).postings
        if hash_ in postings:
            postings[hash_] = packed([number for number in unpacked(postings[hash_]) if number not in gone])

    def chunk_of(self, hash_: int) -> Chunk:
        """Return the chunk in which the bucket of a hash is."""
        return self._chunks[hash_ >> HASH_BITS - CHUNK_BITS]

    def due(self) -> int | None:
        """Return the number of the chunk whose turn it is, if one's is."""
        turn = self.newest // EVERY % CHUNKS
        return turn if self.newest % EVERY == 0 and self._chunks[turn].upto < self.newest else None

    def take(self, number: int) -> Chunk:
        """Return a chunk that is folded now; nothing stays of it here."""
        taken = self._chunks[number]
        self._chunks[number] = Chunk(self.newest)
        return taken

    @property
    def last_turn(self) -> int:
        """The highest number up to which a chunk is folded."""
        return max(chunk.upto for chunk in self._chunks)

    @property
    def folded(self) -> int:
        """The number up to which all chunks are folded."""
        return min(chunk.upto for chunk in self._chunks)
