"""The frontiers that the contract tests run on. A new backend is one more line in ``BACKENDS``."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.clock import Clock, system_clock
from newsbot.frontier.base import Entry, Frontier
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind
from testbed import redisserver


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        self.now += seconds
        return self.now


@dataclass(frozen=True)
class FrontierPlace:
    """The place of one test's data. Any number of frontiers may open it, also those of other processes."""

    backend: str
    folder: Path

    def open(self, clock: Clock = system_clock) -> Frontier:
        return BACKENDS[self.backend](self.folder, clock)


def open_sqlite(folder: Path, clock: Clock) -> Frontier:
    return SqliteFrontier(folder / "newsbot.db", clock=clock)


def open_redis(folder: Path, clock: Clock) -> Frontier:
    """The folder has a file with the namespace: processes with the same folder use the same namespace."""
    note = folder / "namespace"
    if not note.exists():
        note.write_text(f"test-{secrets.token_hex(8)}")
    return RedisFrontier(
        redisserver.redis_url(), namespace=note.read_text(), clock=None if clock is system_clock else clock
    )


def open_divided(folder: Path, clock: Clock) -> Frontier:
    """Three queues in Redis."""
    frontier = open_redis(folder, clock)
    assert isinstance(frontier, RedisFrontier)
    assert frontier.divide(3)
    return frontier


BACKENDS: dict[str, Callable[[Path, Clock], Frontier]] = {
    "redis": open_redis,
    "redis, 3 queues": open_divided,
    "sqlite": open_sqlite,
}


def make_entry(name: str, host: str = "a.example", **fields: Any) -> Entry:
    """Return an entry whose identity is ``name``."""
    defaults = {
        "url": f"https://{host}/{name}",
        "fingerprint": key_of(name),
        "host": host,
        "kind": Kind.ARTICLE,
        **fields,
    }
    return Entry(**defaults)


def key_of(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=16).digest()


def name_of(entry: Entry) -> str:
    return entry.url.rpartition("/")[2]
