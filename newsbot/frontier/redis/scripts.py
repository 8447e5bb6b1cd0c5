"""The Lua scripts of the frontier, one method each; what each does is written at its head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import redis

from newsbot.clock import Clock
from newsbot.connections.redis import Argument, lua_script, readable_errors
from newsbot.errors import DataUnavailable
from newsbot.frontier.redis.codec import number, optional
from newsbot.frontier.redis.keys import FIRST_LEVEL, Keys, missing_splits

BATCH = 300
"""Entries of one sort that one call moves, so that no call keeps others waiting for long."""

_SCANNED = 500


class Scripts:
    """Runs scripts on one client. ``clock`` None: the server's own clock, as always but in tests.

    Every method raises :class:`newsbot.errors.DataError` kinds.
    """

    def __init__(self, client: redis.Redis, keys: Keys, place: str, clock: Clock | None) -> None:
        self._client = client
        self._keys = keys
        self._place = place
        self._clock = clock
        self._level, self._split = FIRST_LEVEL, 0
        self.identity = ""
        """Of the data that this frontier was opened with; see resume.lua."""

    # --- putting in
    def add(self, fingerprints: Sequence[bytes], entries: Iterable[Argument], *, force: bool) -> str:
        """One letter for each entry: N new, K known, S sooner."""
        answer: bytes = self._with_buckets("add", fingerprints, "1" if force else "", *entries)
        return answer.decode()

    def mark_done(
        self, fingerprints: Sequence[bytes], entries: Iterable[Argument], next_due: float | None
    ) -> None:
        """Record entries as done."""
        self._grow(self._with_buckets("mark_done", fingerprints, _optional(next_due), *entries))

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as merely known, where they are not known at all."""
        values = [value for key, at in fetched.items() for value in (key, _optional(at))]
        self._grow(self._with_buckets("remember", list(fetched), *values))

    # --- handing out
    def lease(
        self, owner: str, call: bytes, limit: int, *, horizon: float, ttl: float, hosts: Sequence[str]
    ) -> tuple[float, list[tuple[bytes, bytes]]]:
        """The present, and fingerprint and record of each lease."""
        now, *found = self._run("lease", horizon, limit, ttl, owner, call, BATCH, *hosts)
        return float(now), list(zip(found[::2], found[1::2], strict=True))

    def turns(self, horizon: float, offset: int, limit: int) -> list[str]:
        """Hosts whose turn has come, by turn."""
        return [name.decode() for name in self._run("turns", horizon, BATCH, offset, limit)]

    def ack(self, fingerprint: bytes, token: bytes, next_due: float | None, within: float) -> bool:
        """Whether the lease was the caller's, and is ended well."""
        values = (fingerprint, token, _optional(next_due), within)
        answer = self._with_buckets("ack", [fingerprint], *values)
        self._grow(answer - 1)
        return bool(answer)

    def nack(self, fingerprint: bytes, token: bytes, *, delay: float, aside: bool, counted: bool) -> bool:
        """Whether the lease was the caller's, and is ended badly."""
        flags = ("1" if aside else "", "1" if counted else "")
        return bool(self._run("nack", fingerprint, token, delay, *flags))

    def release(self, owner: str, *, lost: bool = False, call: bytes = b"") -> int:
        """How many leases were handed back."""
        return int(self._run("release", owner, "1" if lost else "", call))

    def refill(self, owner: str, ttl: float, until: float | None) -> tuple[float, float | None, bool]:
        """The present, until when the storage has been asked, and whether the caller may ask it now."""
        now, so_far, yours = self._run("refill", owner, ttl, _optional(until))
        return float(now), optional(so_far), bool(yours)

    def extend(self, owner: str, ttl: float) -> int:
        """How many leases now last longer. Raises :class:`DataUnavailable` if the server lost its data."""
        self._check_identity()
        return int(self._run("extend", owner, ttl))

    def resume(
        self, owner: str, ttl: float, identity: str, leases: Sequence[tuple[bytes, bytes]]
    ) -> tuple[int, str]:
        """How many of these leases (fingerprint, token) are the owner's, and the identity of the data."""
        values = [value for lease in leases for value in lease]
        kept, found = self._run("resume", ttl, owner, identity, *values)
        return int(kept), found.decode()

    def reap(self) -> int:
        """How many leases past their deadline were taken back."""
        return int(self._run("reap", BATCH))

    def owners(self) -> list[str]:
        """Who holds leases."""
        return [name.decode() for name in self._run("owners")]

    # --- politeness
    def politeness(self, host: str, delay: float, concurrency: int, *, at_least: bool) -> None:
        """Set a host's politeness."""
        self._run("politeness", host, float(delay), concurrency, "1" if at_least else "")

    def back_off(self, host: str, seconds: float) -> None:
        """Let a host rest."""
        self._run("back_off", host, seconds)

    def take_turn(self, host: str) -> float:
        """Seconds until the turn that is taken."""
        return float(self._run("take_turn", host))

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> list[bytes]:
        """State, last fetch and next due time of each."""
        answer: list[bytes] = self._with_buckets("known", fingerprints, *fingerprints)
        return answer

    def entry(self, fingerprint: bytes) -> bytes | None:
        """The record."""
        answer: bytes | None = self._run("entry", fingerprint)
        return answer

    def aside(self, limit: int) -> list[tuple[bytes, bytes]]:
        """Fingerprint and record of what was set aside last."""
        found = self._run("aside", limit)
        return list(zip(found[::2], found[1::2], strict=True))

    def outlook(self, horizon: float, *, by_host: bool) -> list[Any]:
        """Present, overdue, leases out, pending, next moment; then host and the last three of each host.

        Raises :class:`DataUnavailable` if the server lost its data: an empty queue is no finished crawl.
        """
        self._check_identity()
        answer: list[Any] = self._run("outlook", horizon, BATCH, "1" if by_host else "")
        return answer

    def stats(self) -> list[int]:
        """Pending, leased, done, aside, hosts, known."""
        answer: list[int] = self._run("stats")
        return answer

    def watch(self) -> tuple[float, float | None, list[tuple[str, int, float]]]:
        """The present, since when something is overdue, and owner, leases, first deadline of each owner."""
        now, late, *rest = self._run("watch")
        rows = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        return float(now), optional(late), [(name.decode(), int(many), float(at)) for name, many, at in rows]

    def is_compact(self, entries: int) -> bool:
        """Whether the server keeps hashes of so many entries as listpacks."""
        return bool(self._run("probe", entries, keys=[self._keys.probe]))

    # --- copies
    def at_work(self) -> list[str]:
        """Who holds leases whose deadline lies ahead."""
        return [owner.decode() for owner in self._run("at_work")]

    def scan(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """All fields of one of the hashes, in no particular order."""
        cursor = 0
        while True:
            with readable_errors(self._place):
                answer: Any = self._client.hscan(self._keys.named(name), cursor, count=_SCANNED)
            cursor, found = answer
            yield from found.items()
            if not cursor:
                return

    def host(self, name: str) -> bytes | None:
        """The record of one host; None if it is not known."""
        with readable_errors(self._place):
            raw: Any = self._client.hget(self._keys.named("hosts"), name)
        return None if raw is None else bytes(raw)

    def take(self, fingerprints: Sequence[bytes], values: Iterable[Argument]) -> None:
        """Keep copies of entries that are not known."""
        self._grow(self._with_buckets("take", fingerprints, *values))

    # --- inside
    def _with_buckets(self, name: str, fingerprints: Sequence[bytes], *values: Argument) -> Any:
        """Run a script that asks for known URLs; again if their buckets have grown meanwhile."""
        while True:
            level = self._level
            buckets = [key for one in fingerprints for key in self._keys.buckets(level, one)]
            try:
                return self._run(name, level, *values, keys=buckets)
            except _LevelChanged as error:
                self._level, self._split = error.level, 0  # at least

    def _grow(self, known: int) -> None:
        """Split buckets of known URLs until there are enough of them."""
        if known <= 0:
            return
        while missing_splits(known, self._level, self._split):
            with readable_errors(self._place):
                level, split = self._client.hmget(self._keys.meta, ["level", "split"])
            self._level, self._split = int(level or FIRST_LEVEL), int(split or 0)
            if missing_splits(known, self._level, self._split):
                keys = self._keys.halves(self._level, self._split)
                self._split += self._run("split", self._level, self._split, keys=keys)

    def _run(self, name: str, *values: Argument, keys: Sequence[str] = ()) -> Any:
        now = "" if self._clock is None else number(self._clock())
        with readable_errors(self._place):
            try:
                every = [*self._keys.fixed, *keys]
                forgotten = None if name == "resume" else self._check_identity
                script = lua_script("frontier/lua", name)
                return script.run(self._client, every, [now, *values], forgotten=forgotten)
            except redis.exceptions.ResponseError as error:
                word, _, level = str(error).partition(" ")
                if word == "LEVEL":
                    raise _LevelChanged(int(level)) from error
                raise

    def _check_identity(self) -> None:
        """Raise :class:`DataUnavailable` if the data are gone: a restart without them, FLUSHALL."""
        with readable_errors(self._place):
            found = self._client.hget(self._keys.meta, "identity")
        if self.identity and found != self.identity.encode():
            raise DataUnavailable(f"{self._place}: the server has lost its data")


class _LevelChanged(Exception):
    """The buckets of known URLs are of another level than the caller thought."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


def _optional(value: float | None) -> str:
    return "" if value is None else number(value)
