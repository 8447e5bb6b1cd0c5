"""The names of the keys in Redis. The head of ``newsbot/frontier/lua/lib.lua`` describes their content.

All keys of one frontier share one hash tag (``{newsbot:0}``). Redis Cluster therefore keeps them on one node,
and one script can change them together. A crawl that is too large for one node gets several frontiers, each
for a part of the hosts (``{newsbot:1}`` and so on). A script never uses the keys of two frontiers.
"""

from __future__ import annotations

import math

NAMES = (
    "meta",
    "entries",
    "queue",
    "dated",
    "waiting",
    "held",
    "due",
    "aside",
    "leases",
    "holders",
    "owned",
    "out",
    "hosts",
    "turns",
    "full",
)
"""Key names in the order of ``KEYS`` of every script."""

FIRST_LEVEL = 8
"""The initial number of buckets of known URLs is 2 to the power of this. lib.lua has the same constant."""
LOAD = 200
"""Average number of known URLs in a bucket. A bucket that is not split yet may have twice as many."""
LISTPACK = 512
"""Maximum number of fields up to which Redis stores a hash as a listpack (the default of the setting
hash-max-listpack-entries). A listpack takes a fraction of the memory of a larger hash."""


class Keys:
    """The keys of the frontier ``namespace`` and ``shard``."""

    def __init__(self, namespace: str, shard: int) -> None:
        self.tag = f"{{{namespace}:{shard}}}"
        self.fixed = [f"{self.tag}:{name}" for name in NAMES]

    @property
    def meta(self) -> str:
        """The key that holds data about the frontier as a whole, e.g. its identity."""
        return self.fixed[0]

    @property
    def probe(self) -> str:
        """A key that exists only while probe.lua runs."""
        return f"{self.tag}:probe"

    def named(self, name: str) -> str:
        """Return one of the keys of :data:`NAMES`."""
        return self.fixed[NAMES.index(name)]

    def bucket(self, level: int, index: int) -> str:
        """Return the key of one bucket of known URLs."""
        return f"{self.tag}:known:{level}:{index:x}"

    def buckets(self, level: int, fingerprint: bytes) -> tuple[str, str]:
        """Return the keys of a fingerprint's bucket at ``level`` and at the next level."""
        top = int.from_bytes(fingerprint[:4])
        # The first `level` bits are the number of the bucket; one bit more gives the half that it splits
        # into.
        return self.bucket(level, top >> (32 - level)), self.bucket(level + 1, top >> (31 - level))

    def halves(self, level: int, index: int) -> tuple[str, str, str]:
        """Return the keys of a bucket and of the two next-level buckets that it splits into."""
        return (
            self.bucket(level, index),
            self.bucket(level + 1, 2 * index),
            self.bucket(level + 1, 2 * index + 1),
        )


def missing_splits(known: int, level: int, split: int) -> int:
    """Return how many more buckets must be split to store ``known`` URLs.

    The buckets are those of linear hashing (Litwin 1980). There are ``2 ** level + split`` of them now.
    """
    # The script has counted all known URLs, and LOAD of them belong in a bucket.
    wanted = math.ceil(known / LOAD)
    return max(0, wanted - ((1 << level) + split))
