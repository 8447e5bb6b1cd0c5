"""The near-duplicate indexes of the contract tests. A new backend is one more line in ``BACKENDS``."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import KEEP, PASSAGES, NearIndex, Signature
from newsbot.dedup.sqlite import SqliteIndex
from testbed import redisserver


def made_up(values: NDArray[np.uint32], shingles: int) -> Signature:
    """Return a signature without a text; its first values are its lookup keys."""
    return Signature(values, shingles, values[:PASSAGES].astype(np.uint64))


@dataclass(frozen=True)
class IndexPlace:
    """The place of one test's texts. Any number of indexes may open it, also those of other processes."""

    backend: str
    folder: Path

    def open(self, keep: float = KEEP) -> NearIndex:
        return BACKENDS[self.backend](self.folder, keep)


def open_sqlite(folder: Path, keep: float = KEEP) -> NearIndex:
    return SqliteIndex(folder / "newsbot.db", keep=keep)


def open_redis(folder: Path, keep: float = KEEP) -> NearIndex:
    """The folder has a file with server and namespace: processes with the same folder use the same ones."""
    note = folder / "index-place"
    if not note.exists():
        note.write_text(f"{redisserver.redis_url()} test-{secrets.token_hex(8)}")
    url, namespace = note.read_text().split()
    return RedisIndex(url, namespace=namespace, keep=keep)


BACKENDS: dict[str, Callable[[Path, float], NearIndex]] = {"redis": open_redis, "sqlite": open_sqlite}
