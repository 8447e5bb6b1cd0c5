"""The near-duplicate indexes that the contract holds for. A new backend is one more line in ``BACKENDS``."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.index import KEEP, NearIndex
from newsbot.dedup.minhash import PASSAGES, Signature
from newsbot.dedup.redis import RedisIndex
from newsbot.dedup.sqlite import SqliteIndex
from tests import redisserver


def made_up(values: NDArray[np.uint32], shingles: int) -> Signature:
    """A signature of no text: it is looked up by the first of its values."""
    return Signature(values, shingles, values[:PASSAGES].astype(np.uint64))


@dataclass(frozen=True)
class IndexPlace:
    """Where one test keeps its texts: any number of indexes, also of other processes, may open it."""

    backend: str
    folder: Path

    def open(self, keep: float = KEEP) -> NearIndex:
        return BACKENDS[self.backend](self.folder, keep)


def open_sqlite(folder: Path, keep: float = KEEP) -> NearIndex:
    return SqliteIndex(folder / "newsbot.db", keep=keep)


def open_redis(folder: Path, keep: float = KEEP) -> NearIndex:
    """Server and namespace are noted in the folder: processes that share the one share the others."""
    note = folder / "index-place"
    if not note.exists():
        note.write_text(f"{redisserver.redis_url()} test-{secrets.token_hex(8)}")
    url, namespace = note.read_text().split()
    return RedisIndex(url, namespace=namespace, keep=keep)


BACKENDS: dict[str, Callable[[Path, float], NearIndex]] = {"redis": open_redis, "sqlite": open_sqlite}
