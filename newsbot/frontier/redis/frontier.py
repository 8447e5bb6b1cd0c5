"""The frontier in Redis, for any number of workers. :mod:`newsbot.frontier.base` documents its guarantees.

Each change is one Lua script, which Redis runs atomically. Entries that are pending, leased, set aside or due
again are stored in full. A URL that is done and never due again is a *known URL*: only the minute of its last
fetch is stored (15 bytes). For a known URL, :meth:`RedisFrontier.entry` returns None. The storage has the
history of this URL.

The current time is that of the server's clock. ``horizon`` and the due times of entries come from the clocks
of the workers. These clocks should differ by less than a second (NTP).
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import redis

from newsbot.clock import Clock
from newsbot.config.check import SettingsLike
from newsbot.connections.redis import (
    Argument,
    close,
    connect,
    logs_writes,
    lua_script,
    readable_errors,
    refuse_eviction,
    server_name,
)
from newsbot.errors import DataError, DataUnavailable, SchemaError
from newsbot.frontier.base import (
    Added,
    Entry,
    EntryCopy,
    HostCopy,
    Known,
    Lease,
    Outlook,
    Refill,
    Resumed,
    Watch,
    Worker,
)
from newsbot.frontier.redis.layout import (
    FIRST_LEVEL,
    LISTPACK,
    STATES,
    Ahead,
    Keys,
    Record,
    arguments,
    entry_copy,
    host_copy,
    missing_splits,
    number,
    optional,
    record_of,
    values,
)
from newsbot.items import Bounded, Kind, batched

VERSION = 1
"""Version of the key layout."""

BATCH = 300
"""Maximum number of entries of one state that one call moves to the next state. The limit keeps each call
short, because Redis executes no other command in the meantime."""
_CHUNK = 500  # entries per round trip
_PAGE = 200  # minimum number of hosts read per round trip
_PARTS = 10  # pages of hosts per call
_REMEMBERED = 1000  # accepted hosts that a call tries first
_LOOKED = 1000  # members of sorted sets that one call of a script reads
_VERDICTS = {"N": Added.NEW, "K": Added.KNOWN, "S": Added.SOONER}
_SETTLE_ROUNDS = 10

MAX_ACCEPTED = 20_000
"""Maximum number of accepted hosts that are remembered."""

logger = logging.getLogger(__name__)


class RedisFrontier:
    """A :class:`newsbot.frontier.base.Frontier` in Redis.

    ``where`` is a URL (``redis://…``) or settings with the names of scrapy-redis. ``namespace`` and
    ``shard`` distinguish frontiers on one server. :class:`newsbot.frontier.base.LeanFrontier` documents
    ``keep_within``. ``clock`` is for tests; None means the server's clock. The constructor and all methods
    raise subclasses of :class:`newsbot.errors.DataError`.
    """

    place = "Redis"
    is_local = False

    def __init__(
        self,
        where: str | SettingsLike,
        *,
        namespace: str = "newsbot",
        shard: int = 0,
        keep_within: float = math.inf,
        clock: Clock | None = None,
    ) -> None:
        settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
        self._place = server_name(settings)
        self.keep_within = keep_within
        self._client = connect(settings)
        self._accepted = Bounded[str, None](MAX_ACCEPTED)
        """Hosts that ``accept`` has accepted. Those that were tried longest ago come first."""
        self._offset = 0
        """Number of hosts, in the order of their turns, behind which the next call of :meth:`lease` looks."""
        self._keys = keys = Keys(namespace, shard)
        self._scripts = Scripts(self._client, keys, self._place, clock)
        try:
            self._check_server(keys)
        except DataError:
            self.close()
            raise

    def _check_server(self, keys: Keys) -> None:
        with readable_errors(self._place):
            # Several workers may start at the same time. HSETNX writes nothing if a value exists, so all
            # workers then read the value of the first worker.
            self._client.hsetnx(keys.meta, "version", str(VERSION))
            version = int(self._client.hget(keys.meta, "version") or 0)
        if version > VERSION:
            raise SchemaError(f"{self._place}: frontier was written by a newer newsbot; upgrade newsbot")
        self._scripts.resume("", 0.0, [])  # reads the identities of the data and the server process
        with readable_errors(self._place):
            refuse_eviction(self._client, self._place, "queued URLs")
        # probe.lua stores a hash with this number of fields
        if not self._scripts.run("probe", LISTPACK, keys=[keys.probe]):
            logger.warning(
                "known URLs need several times the usual memory place=%s fault=hash-max-listpack-entries is"
                " below %d: raise it in redis.conf",
                self._place,
                LISTPACK,
            )

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False, respell: bool = False) -> list[Added]:
        """Queue new entries; see :meth:`newsbot.frontier.base.Frontier.add`.

        Only a call with up to 500 entries is atomic.
        """
        answers = [
            self._scripts.run_on("add", keys, force, respell, *given) for keys, given in _sent(entries)
        ]
        return [_VERDICTS[letter] for letter in b"".join(answers).decode()]

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done although they were not fetched; see the protocol."""
        for keys, given in _sent(entries):
            self._scripts.grow(self._scripts.run_on("mark_done", keys, next_due, *given))

    # --- handing out
    def lease(
        self,
        owner: str,
        limit: int,
        *,
        horizon: float,
        ttl: float,
        accept: Callable[[str], bool] | None = None,
        alone: bool = False,
    ) -> list[Lease]:
        """Lease up to ``limit`` entries; see the protocol.

        This takes one round trip to the server, or a few with ``accept``. There may be very many hosts that
        are not accepted, or whose entries are due after the horizon. One call looks at a part of them. The
        next call goes on behind this part.
        """
        if limit <= 0:
            return []
        leases: list[Lease] = []
        if accept is None:
            offset = 0
            for _ in range(_PARTS):
                wanted, rest = limit - len(leases), alone and not leases
                got, looked = self._lease(owner, wanted, horizon, ttl, (), alone=rest, offset=offset)
                leases += got
                if len(leases) >= limit:
                    break
                behind = offset + looked - len({one.entry.host for one in got})
                # The first part is looked at in each call, the others in turns.
                offset = self._offset = 0 if not looked else behind if offset else max(behind, self._offset)
                if not looked:
                    break
            return leases
        every: list[str] = []
        for names in filter(None, self._hosts(horizon, max(_PAGE, limit), accept)):
            leases += self._lease(owner, limit - len(leases), horizon, ttl, names)[0]
            every += names
            if len(leases) >= limit:
                break
        # These hosts have no ordinary entry to lease. The call is repeated for a suspect, which must be
        # leased alone.
        if alone and every and not leases:
            return self._lease(owner, 1, horizon, ttl, every[:_PAGE], alone=True)[0]
        return leases

    def _hosts(self, horizon: float, page: int, accept: Callable[[str], bool]) -> Iterator[list[str]]:
        """Yield accepted hosts to lease from: the first ones, those that are remembered, and some others.

        ``accept`` is a Python function, which Redis cannot call. A page of hosts is therefore read, and the
        accepted hosts are passed to the script.
        """
        seen = set[str]()  # ``accept`` may count the hosts that it accepts, so each host is asked once

        def accepted(names: list[str]) -> list[str]:
            new = [name for name in names if name not in seen]
            seen.update(new)
            chosen = list(filter(accept, new))
            self._accepted.add(*chosen)
            return chosen

        first = self._turns(horizon, 0, page)
        yield accepted(first)
        if len(first) < page:
            return  # that were all hosts
        for some in batched(list(islice(self._accepted, _REMEMBERED)), page):
            for name in some:
                self._accepted.move_to_end(name)  # the others come first in the next call
            yield accepted(self._turns(horizon, 0, page, some))
        for _ in range(_PARTS - 1):
            offset = self._offset or page
            names = self._turns(horizon, offset, page)
            self._offset = 0 if len(names) < page else offset + page
            yield accepted(names)
            if not self._offset:
                return

    def _turns(self, horizon: float, offset: int, page: int, names: Sequence[str] = ()) -> list[str]:
        return _decoded(self._scripts.run("turns", horizon, BATCH, offset, page, *names))

    def _lease(
        self,
        owner: str,
        limit: int,
        horizon: float,
        ttl: float,
        hosts: Sequence[str],
        *,
        alone: bool = False,
        offset: int = 0,
    ) -> tuple[list[Lease], int]:
        """Lease entries of ``hosts``, or of all hosts from ``offset`` on.

        Return the leases, and the number of hosts that were looked at; 0 if there are no more.
        """
        # All leases of this call share one token, because a lease is identified by fingerprint and token.
        token = secrets.token_hex(8)
        now, looked, *found = self._scripts.run(
            "lease", horizon, limit, ttl, owner, token, BATCH, alone, offset, *hosts
        )
        leases = [
            Lease(
                entry=record.entry,
                owner=owner,
                token=token,
                deadline=float(now) + ttl,
                attempts=record.attempts,
                lost=record.lost,
                last_fetched=record.fetched,
                turn=float(now),
            )
            for record in _records(found)
        ]
        return leases, int(looked or 0)

    def ack(self, lease: Lease, *, next_due: float | None, fetched: bool = True) -> bool:
        """Mark the entry as done; see the protocol. Returns False if the caller no longer holds the lease."""
        return self.ack_all([(lease, next_due)], fetched=fetched)[0]

    def ack_all(self, done: Sequence[tuple[Lease, float | None]], *, fetched: bool = True) -> list[bool]:
        """Do the same as :meth:`ack` for several pairs (lease, next_due)."""
        keys = [lease.entry.fingerprint for lease, _ in done]
        leases = [
            (lease.entry.fingerprint, lease.token, next_due, self._within(lease.entry.kind))
            for lease, next_due in done
        ]
        known, *held = self._scripts.run_on("ack", keys, fetched, *chain.from_iterable(leases))
        self._scripts.grow(known)
        return [bool(one) for one in held]

    def _within(self, kind: Kind) -> float:
        """Return ``keep_within`` for entries of this kind, in seconds. Sources are always kept."""
        return math.inf if kind.is_source else self.keep_within

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed; see the protocol."""
        key = lease.entry.fingerprint
        # setting an entry aside counts as a failed attempt in any case
        return bool(self._scripts.run("nack", key, lease.token, max(0.0, delay), aside, counted or aside))

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue; see the protocol. Return their number."""
        return int(self._scripts.run("release", owner, lost))

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""
        return _decoded(self._scripts.run("owners"))

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``; see the protocol."""
        # All leases must be in one call, because the script returns the owner's other leases to the queue.
        held = [(lease.entry.fingerprint, lease.token.encode()) for lease in leases]
        return Resumed(*self._scripts.resume(owner, ttl, held))

    def refill(
        self,
        owner: str,
        *,
        ttl: float,
        until: float | None = None,
        reading: bool = False,
        at: bytes = b"",
    ) -> Refill:
        """Acquire, renew or release the lock for refilling from the storage; see the protocol."""
        now, so_far, yours, since, behind = self._scripts.run("refill", owner, ttl, until, reading, at)
        return Refill(float(now), optional(so_far), bool(yours), optional(since), behind)

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as done and never due again; see the protocol."""
        for chunk in batched(fetched.items(), _CHUNK):
            keys, pairs = [key for key, _ in chunk], chain.from_iterable(chunk)
            self._scripts.grow(self._scripts.run_on("remember", keys, *pairs))

    def is_volatile(self) -> bool:
        """Return True if the server does not log its writes to a file; see the protocol."""
        with readable_errors(self._place):
            return not logs_writes(self._client)

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that this frontier is refilled from; see the protocol."""
        with readable_errors(self._place):
            if instead:
                self._client.hset(self._keys.meta, "storage", storage)
            else:
                self._client.hsetnx(self._keys.meta, "storage", storage)
            stored = self._client.hget(self._keys.meta, "storage")
        return stored.decode() if isinstance(stored, bytes) else storage

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay (seconds) and its maximum number of leases; see the protocol.

        Raises ``ValueError`` for a delay below 0 or a concurrency below 1.
        """
        if not delay >= 0 or concurrency < 1:
            raise ValueError(
                f"{host}: delay {delay} must be at least 0, and concurrency {concurrency} must be at least 1"
            )
        self._scripts.run("politeness", host, float(delay), concurrency, at_least)

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. A rest is never shortened."""
        self._scripts.run("back_off", host, seconds)

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued; see the protocol."""
        return float(self._scripts.run("take_turn", host, missed))

    def return_turn(self, host: str, turn: float) -> None:
        """Return the turn of a lease; see the protocol."""
        self._scripts.run("return_turn", host, turn)

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is known about these URLs. Unknown URLs are left out."""
        # Redis runs one script at a time, so a long call would block all other workers.
        found = {}
        for chunk in batched(fingerprints, _CHUNK):
            answer = self._scripts.run_on("known", chunk, *chunk)
            for fingerprint, state, fetched, due in zip(
                chunk, answer[::3], answer[1::3], answer[2::3], strict=True
            ):
                if state:
                    found[fingerprint] = Known(
                        state=STATES[state.decode()], last_fetched=optional(fetched), next_due=optional(due)
                    )
        return found

    def entry(self, fingerprint: bytes) -> Entry | None:
        """Return the current entry; None if it is unknown, or done and never due again."""
        raw = self._scripts.run("entry", fingerprint)
        return None if raw is None else record_of(fingerprint, raw).entry

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""
        return [one.entry for one in _records(self._scripts.run("aside", limit))] if limit > 0 else []

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return the number of entries that are pending within ``horizon``, and the time of the next lease.

        With ``accept``, the hosts are read in pages. They may change between two pages.
        """
        if accept is None:
            identity, now, overdue, leased, pending, moment, name = self._scripts.run(
                "outlook", horizon, BATCH
            )
            self._scripts.compare_identity(identity)  # otherwise, a crawl would end after a loss of data
            next_at, host = optional(moment), name.decode() or None
        else:
            # Each first page settles a batch of due entries, which makes them ready to be leased. The counts
            # by host do not include due entries that are not settled yet. So this is repeated.
            for _ in range(_SETTLE_ROUNDS):
                now, overdue, rows = self._ahead(horizon)
                if not overdue:
                    break
            ahead = Ahead()
            for part, raw, record, moment in rows:
                if accept(name := raw.decode()):
                    ahead.take(part, name, record, moment)
            leased, pending, moments = ahead.outlook()
            self._accepted.add(*moments)
            next_at, host = min(((at, name) for name, at in moments.items()), default=(None, None))
        if overdue:  # due entries that are not settled yet; the next call settles and leases them
            pending, next_at, host = pending + overdue, float(now), None
        return Outlook(next_at=next_at, pending=pending, leased=leased, host=host)

    def _ahead(self, horizon: float) -> tuple[float, int, Iterator[tuple[int, bytes, bytes, bytes]]]:
        """Return the server's time, the number of entries to settle, and the rows of ``ahead.lua``."""

        def page(part: int, offset: int) -> list[Any]:
            found = self._scripts.run("ahead", horizon, BATCH, part, offset, _LOOKED)
            self._scripts.compare_identity(found[0])
            return list(found)

        def rows(found: list[Any]) -> Iterator[tuple[int, bytes, bytes, bytes]]:
            while True:
                part, offset, *flat = found[3:]
                yield from zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True)
                if not part:
                    return
                found = page(int(part), int(offset))

        first = page(1, 0)
        return float(first[1]), int(first[2]), rows(first)

    def counts(self) -> dict[str, int]:
        """Return the number of entries by state (``pending``, ``leased``, ``done``, ``aside``), and of
        ``hosts``."""
        names = ("pending", "leased", "done", "aside", "hosts")
        # the script returns a sixth number, the number of known URLs
        return dict(zip(names, self._scripts.run("stats"), strict=False))

    def watch(self) -> Watch:
        """Return the current workers and lag."""
        now, late, *rest = self._scripts.run("watch")
        rows = sorted(zip(_decoded(rest[::3]), rest[1::3], rest[2::3], strict=True))
        workers = [Worker(name, int(leases), float(deadline)) for name, leases, deadline in rows]
        return Watch(float(now), optional(late), workers)

    # --- copies
    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired."""
        return _decoded(self._scripts.run("at_work"))

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of a host; None for an unknown host."""
        with readable_errors(self._place):
            raw: Any = self._client.hget(self._keys.named("hosts"), name)
        return None if raw is None else host_copy(name.encode(), raw)

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""
        for name, raw in self._scripts.scan("hosts"):
            yield host_copy(name, raw)

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries that are kept in full."""
        for fingerprint, raw in self._scripts.scan("entries"):
            yield entry_copy(fingerprint, raw)

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the copies of entries that are not known yet."""
        for chunk in batched(copies, _CHUNK):
            given = [value for copy in chunk for value in values(copy, self._within(copy.entry.kind))]
            keys = [copy.entry.fingerprint for copy in chunk]
            self._scripts.grow(self._scripts.run_on("take", keys, *given))

    def close(self) -> None:
        """Close the connection. Leases are not returned: call :meth:`release` first."""
        close(self._client)


def _sent(entries: Sequence[Entry]) -> Iterator[tuple[list[bytes], list[bytes | str]]]:
    """For each call of a script, yield the fingerprints and the arguments of its entries."""
    # All arguments are made before the first call. If an entry is not valid, no call is made.
    rows = [(entry.fingerprint, arguments(entry)) for entry in entries]
    for chunk in batched(rows, _CHUNK):
        yield [key for key, _ in chunk], [value for _, given in chunk for value in given]


def _records(found: Sequence[bytes]) -> Iterator[Record]:
    """Decode a flat list of fingerprints and records."""
    return map(record_of, found[::2], found[1::2])


def _decoded(names: Sequence[bytes]) -> list[str]:
    return [name.decode() for name in names]


# --- scripts: runs the Lua scripts. The first comment of each script documents its arguments and its answer.

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

    def run(self, name: str, *values: Argument | None, keys: Sequence[str] = ()) -> Any:
        """Run a script and return its raw answer. ``keys`` are passed in addition to the keys of all scripts.

        A script gets True as "1", and False and None as the empty text.
        """
        now = "" if self._clock is None else number(self._clock())
        given = [
            "1" if value is True else "" if value is None or value is False else value for value in values
        ]
        with readable_errors(self._place):
            try:
                every = [*self._keys.fixed, *keys]
                # A server without its scripts was restarted and may have lost its data, so the data are
                # checked first.
                forgotten = None if name == "resume" else self._check_identity
                script = lua_script("frontier/lua", name)
                return script.run(self._client, every, [now, *given], forgotten=forgotten)
            except redis.exceptions.ResponseError as error:
                word, _, level = str(error).partition(" ")
                if word == "LEVEL":
                    raise _LevelChanged(int(level)) from error
                raise

    def run_on(self, name: str, fingerprints: Sequence[bytes], *values: Argument | None) -> Any:
        """Run a script that reads the known URLs of ``fingerprints``, and return its raw answer.

        The script is run again if another worker has split the buckets in the meantime.
        """
        while True:
            level = self._level
            buckets = [key for one in fingerprints for key in self._keys.buckets(level, one)]
            try:
                return self.run(name, level, *values, keys=buckets)
            except _LevelChanged as error:
                # the true value of ``split`` may be higher than 0; grow() reads it before it splits
                self._level, self._split = error.level, 0

    def resume(self, owner: str, ttl: float, leases: Sequence[tuple[bytes, bytes]]) -> tuple[int, bool, bool]:
        """Resume the leases of the pairs (fingerprint, token). Return the fields of ``Resumed``."""
        values = [value for lease in leases for value in lease]
        # The server stores the random identity only if it has no identity, because the server is new or has
        # lost its data.
        kept, *found = self.run("resume", ttl, owner, secrets.token_hex(8), self.process, *values)
        before = self.identity, self.process
        self.identity, self.process = (text.decode() for text in found)
        return int(kept), self.identity != before[0], self.process != before[1]

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

    def grow(self, known: int) -> None:
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
                self._split += self.run("split", self._level, self._split, keys=keys)

    def _check_identity(self) -> None:
        """Raise :class:`DataUnavailable` if the data are gone, after a restart or FLUSHALL."""
        with readable_errors(self._place):
            found: Any = self._client.hget(self._keys.meta, "identity")
        self.compare_identity(found)

    def compare_identity(self, found: bytes | None) -> None:
        """Raise :class:`DataUnavailable` if ``found`` is not the identity of the data at the start."""
        if self.identity and found != self.identity.encode():
            raise DataUnavailable(f"{self._place}: the server has lost its data")


class _LevelChanged(Exception):
    """Raised if the level of the buckets of known URLs is not the level that the caller assumed."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level
