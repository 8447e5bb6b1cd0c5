"""Runs the Lua scripts of the frontier, one method for each. The head of each script documents it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import redis

from newsbot.clock import Clock
from newsbot.connections.redis import Argument, lua_script, readable_errors
from newsbot.errors import DataUnavailable
from newsbot.frontier.redis.codec import number, optional
from newsbot.frontier.redis.keys import FIRST_LEVEL, Keys, missing_splits

BATCH = 300
"""Maximum number of entries of one state that one call moves. It limits for how long a call blocks others."""

_SCANNED = 500


class Scripts:
    """Runs the scripts on one client.

    ``clock`` is for tests; None means the server's own clock. Every method raises subclasses of
    :class:`newsbot.errors.DataError`.
    """

    def __init__(self, client: redis.Redis, keys: Keys, place: str, clock: Clock | None) -> None:
        self._client = client
        self._keys = keys
        self._place = place
        self._clock = clock
        self._level, self._split = FIRST_LEVEL, 0
        self.identity = ""
        """Identity of the data that the server had when this frontier was opened; see resume.lua."""
        self.process = ""
        """The server process that had the data then."""

    # --- putting in
    def add(
        self, fingerprints: Sequence[bytes], entries: Iterable[Argument], *, force: bool, respell: bool
    ) -> str:
        """Add entries. Return one letter for each: N new, K known, S sooner."""
        flags = ("1" if force else "", "1" if respell else "")
        answer: bytes = self._with_buckets("add", fingerprints, *flags, *entries)
        return answer.decode()

    def mark_done(
        self, fingerprints: Sequence[bytes], entries: Iterable[Argument], next_due: float | None
    ) -> None:
        """Record entries as done."""
        self._grow(self._with_buckets("mark_done", fingerprints, _optional(next_due), *entries))

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as known: fingerprint -> time of the last fetch (None: never)."""
        values = [value for key, at in fetched.items() for value in (key, _optional(at))]
        self._grow(self._with_buckets("remember", list(fetched), *values))

    # --- handing out
    def lease(
        self,
        owner: str,
        call: bytes,
        limit: int,
        *,
        horizon: float,
        ttl: float,
        hosts: Sequence[str],
        alone: bool,
    ) -> tuple[float, list[tuple[bytes, bytes]]]:
        """Lease entries. Return the server's time, and (fingerprint, record) of each lease."""
        flag = "1" if alone else ""
        now, *found = self._run("lease", horizon, limit, ttl, owner, call, BATCH, flag, *hosts)
        # Redis returns flat lists: fingerprint, record, fingerprint, record …
        return float(now), list(zip(found[::2], found[1::2], strict=True))

    def turns(self, horizon: float, offset: int, limit: int) -> list[str]:
        """Return the hosts whose turn has come, in the order of their turns."""
        return [name.decode() for name in self._run("turns", horizon, BATCH, offset, limit)]

    def ack(
        self, fingerprint: bytes, token: bytes, next_due: float | None, within: float, *, fetched: bool
    ) -> bool:
        """End a lease after success. Return False if the caller does not hold it."""
        values = (fingerprint, token, _optional(next_due), within, "1" if fetched else "")
        answer = self._with_buckets("ack", [fingerprint], *values)
        # 0: the lease is not ours; 1: nothing new is known; else 1 + the number of known URLs
        self._grow(answer - 1)
        return bool(answer)

    def nack(self, fingerprint: bytes, token: bytes, *, delay: float, aside: bool, counted: bool) -> bool:
        """End a lease after a failure. Return False if the caller does not hold it."""
        flags = ("1" if aside else "", "1" if counted else "")
        return bool(self._run("nack", fingerprint, token, delay, *flags))

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Release all leases of the owner. Return their number."""
        return int(self._run("release", owner, "1" if lost else ""))

    def refill(
        self, owner: str, ttl: float, until: float | None, *, reading: bool
    ) -> tuple[float, float | None, bool]:
        """Run the script ``refill``. Return the fields of :class:`newsbot.frontier.base.Refill`."""
        now, so_far, yours = self._run("refill", owner, ttl, _optional(until), "1" if reading else "")
        return float(now), optional(so_far), bool(yours)

    def resume(self, owner: str, ttl: float, leases: Sequence[tuple[bytes, bytes]]) -> tuple[int, bool, bool]:
        """Resume ``leases``, pairs (fingerprint, token). Return the fields of ``Resumed``."""
        values = [value for lease in leases for value in lease]
        # The random identity is stored only if the server has none: if it has lost its data.
        kept, *found = self._run("resume", ttl, owner, secrets.token_hex(8), self.process, *values)
        before = self.identity, self.process
        self.identity, self.process = (text.decode() for text in found)
        return int(kept), self.identity != before[0], self.process != before[1]

    def reap(self) -> int:
        """Reclaim expired leases. Return their number."""
        return int(self._run("reap", BATCH))

    def owners(self) -> list[str]:
        """Return the owners that hold leases."""
        return [name.decode() for name in self._run("owners")]

    # --- politeness
    def politeness(self, host: str, delay: float, concurrency: int, *, at_least: bool) -> None:
        """Set a host's politeness."""
        self._run("politeness", host, float(delay), concurrency, "1" if at_least else "")

    def back_off(self, host: str, seconds: float) -> None:
        """Let a host rest."""
        self._run("back_off", host, seconds)

    def take_turn(self, host: str, missed: float | None) -> float:
        """Reserve the host's next turn. Return the seconds until then."""
        return float(self._run("take_turn", host, _optional(missed)))

    def return_turn(self, host: str) -> None:
        """Return a host's last turn."""
        self._run("return_turn", host)

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> list[bytes]:
        """Return a flat list with state, last fetch and next due time of each fingerprint."""
        answer: list[bytes] = self._with_buckets("known", fingerprints, *fingerprints)
        return answer

    def entry(self, fingerprint: bytes) -> bytes | None:
        """Return the record of an entry; None if it is not kept."""
        answer: bytes | None = self._run("entry", fingerprint)
        return answer

    def aside(self, limit: int) -> list[tuple[bytes, bytes]]:
        """Return (fingerprint, record) of the entries that were set aside last, newest first."""
        found = self._run("aside", limit)
        return list(zip(found[::2], found[1::2], strict=True))

    def outlook(self, horizon: float, *, by_host: bool) -> list[Any]:
        """Return the outlook as a flat list, as outlook.lua documents it.

        The list begins with time, number of overdue entries, leases, pending entries and the next time. With
        ``by_host``, four values of each host follow: name, leases, pending entries and next time. Raises
        :class:`DataUnavailable` if the server lost its data: an empty queue looks like a finished crawl.
        """
        answer: list[Any] = self._run("outlook", horizon, BATCH, "1" if by_host else "")
        self._compare_identity(answer[0])
        return answer[1:]

    def stats(self) -> list[int]:
        """Return the numbers of pending, leased, done and aside entries, of hosts and of known URLs."""
        answer: list[int] = self._run("stats")
        return answer

    def watch(self) -> tuple[float, float | None, list[tuple[str, int, float]]]:
        """Return the time, the earliest due time that is late, and (name, leases, deadline) of each owner."""
        now, late, *rest = self._run("watch")
        rows = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        return float(now), optional(late), [(name.decode(), int(many), float(at)) for name, many, at in rows]

    def is_compact(self, entries: int) -> bool:
        """Return True if the server stores a hash with this number of fields as a listpack."""
        return bool(self._run("probe", entries, keys=[self._keys.probe]))

    # --- copies
    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired."""
        return [owner.decode() for owner in self._run("at_work")]

    def scan(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs (field, value) of the Redis hash with this name, in no particular order.

        A field may occur twice if the hash changes in the meantime.
        """
        cursor = 0
        while True:
            with readable_errors(self._place):
                answer: Any = self._client.hscan(self._keys.named(name), cursor, count=_SCANNED)
            cursor, found = answer
            yield from found.items()
            if not cursor:
                return

    def host(self, name: str) -> bytes | None:
        """Return the record of one host; None if it is not known."""
        with readable_errors(self._place):
            raw: Any = self._client.hget(self._keys.named("hosts"), name)
        return None if raw is None else bytes(raw)

    def take(self, fingerprints: Sequence[bytes], values: Iterable[Argument]) -> None:
        """Store copies of entries that are not known yet."""
        self._grow(self._with_buckets("take", fingerprints, *values))

    # --- inside
    def _with_buckets(self, name: str, fingerprints: Sequence[bytes], *values: Argument) -> Any:
        """Run a script that reads known URLs, and return its answer.

        The script is run again if another worker has split the buckets in the meantime.
        """
        while True:
            level = self._level
            buckets = [key for one in fingerprints for key in self._keys.buckets(level, one)]
            try:
                return self._run(name, level, *values, keys=buckets)
            except _LevelChanged as error:
                # the true value of ``split`` may be higher than 0; _grow reads it before it splits
                self._level, self._split = error.level, 0

    def _grow(self, known: int) -> None:
        """Split buckets of known URLs until there are enough for ``known`` URLs."""
        if known <= 0:
            return
        while missing_splits(known, self._level, self._split):
            # other workers split too, so the true state is read before each split
            with readable_errors(self._place):
                level, split = self._client.hmget(self._keys.meta, ["level", "split"])
            self._level, self._split = int(level or FIRST_LEVEL), int(split or 0)
            if missing_splits(known, self._level, self._split):
                keys = self._keys.halves(self._level, self._split)
                # The script returns 0 if another worker has split this bucket first; then the state is read
                # again.
                self._split += self._run("split", self._level, self._split, keys=keys)

    def _run(self, name: str, *values: Argument, keys: Sequence[str] = ()) -> Any:
        now = "" if self._clock is None else number(self._clock())
        with readable_errors(self._place):
            try:
                every = [*self._keys.fixed, *keys]
                # a server that forgot its scripts was restarted and may have lost its data: check this first
                forgotten = None if name == "resume" else self._check_identity
                script = lua_script("frontier/lua", name)
                return script.run(self._client, every, [now, *values], forgotten=forgotten)
            except redis.exceptions.ResponseError as error:
                word, _, level = str(error).partition(" ")
                if word == "LEVEL":
                    raise _LevelChanged(int(level)) from error
                raise

    def _check_identity(self) -> None:
        """Raise :class:`DataUnavailable` if the data are gone, after a restart or FLUSHALL."""
        with readable_errors(self._place):
            found: Any = self._client.hget(self._keys.meta, "identity")
        self._compare_identity(found)

    def _compare_identity(self, found: bytes | None) -> None:
        if self.identity and found != self.identity.encode():
            raise DataUnavailable(f"{self._place}: the server has lost its data")


class _LevelChanged(Exception):
    """Raised if the buckets of known URLs have another level than the caller assumed."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


def _optional(value: float | None) -> str:
    return "" if value is None else number(value)
