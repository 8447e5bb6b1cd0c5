"""The names of the keys in Redis. What each holds is written at the head of ``newsbot/frontier/lua/lib.lua``.

All keys of one frontier carry one hash tag (``{newsbot:0}``), so that Redis Cluster keeps them on one node
and a script may change them together. A crawl that outgrows a node gets more frontiers, one for each part
of the hosts: ``{newsbot:1}`` and so on; no script ever touches two.
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
"""In the order of ``KEYS`` of every script."""

FIRST_LEVEL = 8
"""Buckets of known URLs begin as 2 to the power of this; the same is written in lib.lua."""
LOAD = 200
"""Known URLs in a bucket, on average: a bucket not yet split has up to twice as many …"""
LISTPACK = 512
"""… and Redis stores hashes of up to so many fields as listpacks (hash-max-listpack-entries, its default)."""


class Keys:
    """The keys of the frontier ``namespace`` and ``shard``."""

    def __init__(self, namespace: str, shard: int) -> None:
        self.tag = f"{{{namespace}:{shard}}}"
        self.fixed = [f"{self.tag}:{name}" for name in NAMES]

    @property
    def meta(self) -> str:
        """The key of the frontier's own state."""
        return self.fixed[0]

    @property
    def probe(self) -> str:
        """A key that is there for a moment only, see probe.lua."""
        return f"{self.tag}:probe"

    def named(self, name: str) -> str:
        """Return one of the keys of :data:`NAMES`."""
        return self.fixed[NAMES.index(name)]

    def bucket(self, level: int, index: int) -> str:
        """Return the key of one bucket of known URLs."""
        return f"{self.tag}:known:{level}:{index:x}"

    def buckets(self, level: int, fingerprint: bytes) -> tuple[str, str]:
        """Return the bucket of a fingerprint at ``level``, and at the next."""
        top = int.from_bytes(fingerprint[:4])
        return self.bucket(level, top >> (32 - level)), self.bucket(level + 1, top >> (31 - level))

    def halves(self, level: int, index: int) -> tuple[str, str, str]:
        """Return a bucket and the two of the next level into which it splits."""
        return (
            self.bucket(level, index),
            self.bucket(level + 1, 2 * index),
            self.bucket(level + 1, 2 * index + 1),
        )


def missing_splits(known: int, level: int, split: int) -> int:
    """Return how many more buckets so many known URLs need."""
    wanted = math.ceil(known / LOAD)
    return max(0, wanted - ((1 << level) + split))
