"""Keys of the near-duplicate index in Redis that only its scripts make (apps/redis/lua/index/lib.lua)."""

from __future__ import annotations

from newsbot.apps.redis.index import Keys

BLOCK = 128
"""Records in one list."""


def block_key(keys: Keys, number: int) -> bytes:
    """Return the key of a list of records."""
    return f"{keys.tag}texts:{number:x}".encode()


def bucket_key(keys: Keys, index: int) -> bytes:
    """Return the key of a bucket of postings."""
    return f"{keys.tag}postings:{index:x}".encode()
