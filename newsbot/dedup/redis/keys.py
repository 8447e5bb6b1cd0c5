"""The names of the keys, and in which of them a text is looked for. What each holds: lua/lib.lua.

Postings (a hash and the number of a text) lie in buckets, Redis hashes that grow by linear hashing (W.
Litwin, Linear hashing: a new tool for file and table addressing, 1980): one bucket after the other is split
in two, so that growth costs each call the same. 2**level + split buckets are there. All keys carry one hash
tag, so that Redis Cluster keeps them on one node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from newsbot.dedup.index import posting_hashes
from newsbot.dedup.minhash import Signature
from newsbot.dedup.passages import PASSAGES

BLOCK = 128
"""Records in one list; the same in lib.lua."""
FIELDS = 64
"""Fields of a bucket, each for the postings of one value of six bits of the hash; the same in lib.lua."""
LOAD = 5.5 * FIELDS
"""Postings in a bucket, on average: a field holds ten before it needs a second one. So a bucket has some 70
fields, far below the 512 (hash-max-listpack-entries) up to which Redis stores hashes as listpacks."""
FIRST_LEVEL = 2
"""Buckets begin as 2 to the power of this; the same in lib.lua."""
MAX_LEVEL = 20
"""Beyond a million buckets (20 million texts; no more than 16 million are kept) they only get fuller."""


@dataclass(slots=True)
class State:
    """What a client believes of the index; a script says when it is no longer so."""

    next: int = 0
    """Number of the next text."""
    tail: int = 0
    """Texts below this number are gone."""
    level: int = FIRST_LEVEL
    split: int = 0
    count: int = 0
    """Texts that are kept."""

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return (1 << self.level) + self.split

    @property
    def missing(self) -> int:
        """How many more buckets so many texts need."""
        if self.level >= MAX_LEVEL:
            return 0
        return max(0, math.ceil(self.count * (PASSAGES + 1) / LOAD) - self.buckets)


class Keys:
    """The keys of the index ``namespace``."""

    def __init__(self, namespace: str) -> None:
        self.tag = f"{{{namespace}:near}}:"
        self.meta = f"{self.tag}meta".encode()
        self.probe = f"{self.tag}probe".encode()
        self._blocks = f"{self.tag}texts:".encode()
        self._buckets = f"{self.tag}bands:".encode()

    def block(self, number: int) -> bytes:
        """Return the key of a list of records."""
        return b"%b%x" % (self._blocks, number)

    def bucket(self, index: int) -> bytes:
        """Return the key of a bucket."""
        return b"%b%x" % (self._buckets, index)


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Return where a text's postings go, four bytes each: 6 bits field, 24 bits rest of the hash.

    One a passage, by field, the last for its id. A text that is not comparable has only the last.
    """
    places = (posting_hashes(doc_id, signature) >> np.uint64(34)).astype(">u4")
    places[:-1].sort()
    return places.tobytes()
