"""The names of the keys, and in which of them a text is looked for. What each holds: lua/lib.lua.

Postings (16 bits of a hash and the number of a text) lie in buckets, Redis strings whose number grows by
linear hashing (W. Litwin, Linear hashing: a new tool for file and table addressing, 1980): one bucket after
the other is split in two, so that growth costs each call the same. 2**level + split buckets are there. All
keys carry one hash tag, so that Redis Cluster keeps them on one node.
"""

from __future__ import annotations

import numpy as np

from newsbot.dedup.index import posting_hashes
from newsbot.dedup.minhash import Signature
from newsbot.dedup.passages import PASSAGES

LOAD = 50.0
"""Postings in a bucket, on average. A key takes some 96 bytes beside its value: with fewer that counts, with
more each text reads and writes more."""


class Keys:
    """The keys of the index ``namespace`` that are used here; its scripts make the others."""

    def __init__(self, namespace: str) -> None:
        self.tag = f"{{{namespace}:near}}:"
        self.meta = f"{self.tag}meta".encode()


def texts_a_bucket() -> float:
    """How many texts there are for each bucket: :data:`LOAD` postings."""
    return LOAD / (PASSAGES + 1)


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Return where a text's postings go, four bytes each: 16 bits that they keep, 16 bits more of the hash.

    One a passage, the last for its id. A text that is not comparable has only the last.
    """
    return (posting_hashes(doc_id, signature) >> np.uint64(32)).astype(">u4").tobytes()
