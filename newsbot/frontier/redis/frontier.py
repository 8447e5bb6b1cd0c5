"""The frontier in Redis, for any number of workers; see :mod:`newsbot.frontier.base` for what it promises.

Each change is one Lua script, which Redis runs as a whole or not at all. What is pending, leased, set
aside or to be done again is kept whole. Of a URL that is done and never due again only the minute of its
last fetch stays (15 bytes): :meth:`RedisFrontier.entry` gives None for it, its story is in the storage.

The clock is the server's. ``horizon`` and the due times of entries come from the workers' clocks: these
should agree to a second (NTP).
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from newsbot.clock import Clock
from newsbot.config.check import SettingsLike
from newsbot.connections.redis import connect, readable_errors, refuse_eviction, server_name
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
from newsbot.frontier.redis.codec import STATES, arguments, entry_copy, host_copy, optional, record_of, values
from newsbot.frontier.redis.keys import LISTPACK, Keys
from newsbot.frontier.redis.scripts import Scripts
from newsbot.items import Kind

VERSION = 1
"""Of the layout of the keys."""

_CHUNK = 500  # entries a round trip
_PAGE = 200  # hosts that are looked through at once, at least
_VERDICTS = {"N": Added.NEW, "K": Added.KNOWN, "S": Added.SOONER}
_SETTLE_ROUNDS = 10

logger = logging.getLogger(__name__)


class RedisFrontier:
    """A :class:`newsbot.frontier.base.Frontier` in Redis.

    ``where`` is a URL (``redis://…``) or settings with the names of scrapy-redis. ``namespace`` and
    ``shard`` tell frontiers on one server apart. ``keep_within`` is said in
    :class:`newsbot.frontier.base.LeanFrontier`. ``clock`` is for tests only: None is the server's clock.
    Raises :class:`newsbot.errors.DataError` kinds, also from every method.
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
        keys = Keys(namespace, shard)
        self._meta = keys.meta
        self._scripts = Scripts(self._client, keys, self._place, clock)
        self._doubtful: list[tuple[str, bytes]] = []
        """Owner and token of lease calls whose answer never came: they may have been carried out."""
        try:
            self._check_server(keys)
        except DataError:
            self.close()
            raise

    def _check_server(self, keys: Keys) -> None:
        with readable_errors(self._place):
            self._client.hsetnx(keys.meta, "version", str(VERSION))
            self._client.hsetnx(keys.meta, "identity", secrets.token_hex(8))
            version = int(self._client.hget(keys.meta, "version") or 0)
            identity = self._client.hget(keys.meta, "identity")
            self._scripts.identity = identity.decode() if isinstance(identity, bytes) else ""
        if version > VERSION:
            raise SchemaError(f"{self._place}: frontier was written by a newer newsbot (version {version})")
        with readable_errors(self._place):
            refuse_eviction(self._client, self._place, "queued URLs")
        if not self._scripts.is_compact(LISTPACK):
            logger.warning(
                "known URLs not compact place=%s fault=hash-max-listpack-entries is below %d; they take"
                " several times their memory: set it in redis.conf",
                self._place,
                LISTPACK,
            )

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False) -> list[Added]:
        """Queue what is new; see the protocol. More than 500 entries take more than one step."""
        verdicts = ""
        rows = [arguments(entry) for entry in entries]
        for start in range(0, len(entries), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            fingerprints = [entry.fingerprint for entry in entries[start : start + _CHUNK]]
            verdicts += self._scripts.add(fingerprints, _flat(chunk), force=force)
        return [_VERDICTS[letter] for letter in verdicts]

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done without a fetch of their own; see the protocol."""
        rows = [arguments(entry) for entry in entries]
        for start in range(0, len(entries), _CHUNK):
            fingerprints = [entry.fingerprint for entry in entries[start : start + _CHUNK]]
            self._scripts.mark_done(fingerprints, _flat(rows[start : start + _CHUNK]), next_due)

    # --- handing out
    def lease(
        self,
        owner: str,
        limit: int,
        *,
        horizon: float,
        ttl: float,
        accept: Callable[[str], bool] | None = None,
    ) -> list[Lease]:
        """Hand out up to ``limit`` entries; see the protocol.

        One round trip; with ``accept`` two, and more only past hosts that it refuses.
        """
        if limit <= 0:
            return []
        self._undo_doubtful()
        if accept is None:
            return self._lease(owner, limit, horizon, ttl, ())
        leases: list[Lease] = []
        offset, page = 0, max(_PAGE, limit)
        while len(leases) < limit:
            names = self._scripts.turns(horizon, offset, page)
            accepted = [name for name in names if accept(name)]
            got = self._lease(owner, limit - len(leases), horizon, ttl, accepted) if accepted else []
            leases += got
            if len(names) < page:
                break
            offset += page - len({one.entry.host for one in got})  # those have left the list
        return leases

    def _lease(self, owner: str, limit: int, horizon: float, ttl: float, hosts: Sequence[str]) -> list[Lease]:
        call = secrets.token_hex(8).encode()
        try:
            now, found = self._scripts.lease(owner, call, limit, horizon=horizon, ttl=ttl, hosts=hosts)
        except DataUnavailable:
            self._doubtful.append((owner, call))
            raise
        records = [record_of(fingerprint, raw) for fingerprint, raw in found]
        return [
            Lease(
                entry=record.entry,
                owner=owner,
                token=call.decode(),
                deadline=now + ttl,
                attempts=record.attempts,
                lost=record.lost,
                last_fetched=record.fetched,
            )
            for record in records
        ]

    def _undo_doubtful(self) -> None:
        """Hand back what was leased by calls whose answer was lost: the heartbeat would keep it for ever."""
        while self._doubtful:
            owner, call = self._doubtful[-1]
            self._scripts.release(owner, call=call)
            self._doubtful.pop()

    def ack(self, lease: Lease, *, next_due: float | None) -> bool:
        """The work is done and stored; False when the lease is no longer the caller's."""
        within = self._within(lease.entry.kind)
        return self._scripts.ack(lease.entry.fingerprint, lease.token.encode(), next_due, within)

    def _within(self, kind: Kind) -> float:
        """Seconds: what is due later is only known. Sources are always kept."""
        return math.inf if kind.is_source else self.keep_within

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """The work failed: pending again after ``delay`` seconds, or set aside; see the protocol."""
        fingerprint, token = lease.entry.fingerprint, lease.token.encode()
        return self._scripts.nack(
            fingerprint, token, delay=max(0.0, delay), aside=aside, counted=counted or aside
        )

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Hand back all leases of ``owner`` at once; how many."""
        return self._scripts.release(owner, lost=lost)

    def owners(self) -> list[str]:
        """Who holds leases now."""
        return self._scripts.owners()

    def extend(self, owner: str, ttl: float) -> int:
        """Heartbeat: all leases of ``owner`` now end ``ttl`` seconds from now; how many."""
        return self._scripts.extend(owner, ttl)

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Go on with work after the server could not be reached for long; see the protocol."""
        held = [(lease.entry.fingerprint, lease.token.encode()) for lease in leases]
        kept, identity = self._scripts.resume(owner, ttl, secrets.token_hex(8), held)
        before, self._scripts.identity = self._scripts.identity, identity
        self._undo_doubtful()
        return Resumed(kept, emptied=identity != before)

    def reap(self) -> int:
        """Take back leases past their deadline, as every handing-out does; how many."""
        return self._scripts.reap()

    def refill(self, owner: str, *, ttl: float, until: float | None = None) -> Refill:
        """Ask for the right to refill this frontier from the storage; see the protocol."""
        now, so_far, yours = self._scripts.refill(owner, ttl, until)
        return Refill(now, so_far, yours)

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as done and never due again; see the protocol."""
        left = iter(fetched.items())
        while chunk := dict(islice(left, _CHUNK)):
            self._scripts.remember(chunk)

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that it is refilled from; see the protocol."""
        with readable_errors(self._place):
            if instead:
                self._client.hset(self._meta, "storage", storage)
            else:
                self._client.hsetnx(self._meta, "storage", storage)
            told = self._client.hget(self._meta, "storage")
        return told.decode() if isinstance(told, bytes) else storage

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set one turn of the host's clock (seconds) and how many leases it may have out.

        With ``at_least`` a known host never becomes faster by it.

        A longer delay holds from the last turn on. Raises ``ValueError`` for a delay below 0 or a
        concurrency below 1.
        """
        if not delay >= 0 or concurrency < 1:
            raise ValueError(f"{host}: delay {delay} and concurrency {concurrency} must be at least 0 and 1")
        self._scripts.politeness(host, delay, concurrency, at_least=at_least)

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. Never shortens."""
        self._scripts.back_off(host, seconds)

    def take_turn(self, host: str) -> float:
        """Take the host's next turn for a request that is not queued; seconds until it comes."""
        return self._scripts.take_turn(host)

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
        """What is known of those URLs; unknown ones are missing from the answer."""
        found = {}
        for start in range(0, len(fingerprints), _CHUNK):
            chunk = fingerprints[start : start + _CHUNK]
            answer = self._scripts.known(chunk)
            for fingerprint, state, fetched, due in zip(
                chunk, answer[::3], answer[1::3], answer[2::3], strict=True
            ):
                if state:
                    found[fingerprint] = Known(
                        state=STATES[state.decode()], last_fetched=optional(fetched), next_due=optional(due)
                    )
        return found

    def entry(self, fingerprint: bytes) -> Entry | None:
        """The entry as it stands; None also for what is done and never due again."""
        raw = self._scripts.entry(fingerprint)
        return None if raw is None else record_of(fingerprint, raw).entry

    def aside(self, limit: int) -> list[Entry]:
        """The entries that were set aside last, the newest first; ``data[ASIDE]`` says why."""
        if limit <= 0:
            return []
        return [record_of(fingerprint, raw).entry for fingerprint, raw in self._scripts.aside(limit)]

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """What is pending within ``horizon`` and when the next entry can be leased; see the protocol."""
        for _ in range(_SETTLE_ROUNDS):
            now, overdue, leased, pending, moment, *hosts = self._scripts.outlook(
                horizon, by_host=accept is not None
            )
            if accept is None or not overdue:
                break
        next_at = optional(moment)
        if accept is not None:
            rows = zip(hosts[::4], hosts[1::4], hosts[2::4], hosts[3::4], strict=True)
            taken = [(out, urls, at) for name, out, urls, at in rows if accept(name.decode())]
            leased = sum(out for out, _, _ in taken)
            pending = sum(urls for _, urls, _ in taken)
            next_at = min((float(at) for _, _, at in taken if at), default=None)
        if overdue:
            pending, next_at = pending + overdue, float(now)
        return Outlook(next_at=next_at, pending=pending, leased=leased)

    def counts(self) -> dict[str, int]:
        """How many entries are in each state: keys pending, leased, done, aside, hosts."""
        names = ("pending", "leased", "done", "aside", "hosts")
        return dict(zip(names, self._scripts.stats(), strict=False))

    def watch(self) -> Watch:
        """Look at workers and lag; see :mod:`newsbot.frontier.base`."""
        now, late, workers = self._scripts.watch()
        return Watch(now, late, [Worker(*one) for one in sorted(workers)])

    # --- copies
    def at_work(self) -> list[str]:
        """Who holds leases that have not run out; see :mod:`newsbot.frontier.base`."""
        return self._scripts.at_work()

    def host(self, name: str) -> HostCopy | None:
        """See :meth:`newsbot.frontier.base.Frontier.host`."""
        raw = self._scripts.host(name)
        return None if raw is None else host_copy(name.encode(), raw)

    def copy_hosts(self) -> Iterator[HostCopy]:
        """All hosts; see :mod:`newsbot.frontier.base`."""
        for name, raw in self._scripts.scan("hosts"):
            yield host_copy(name, raw)

    def copy_entries(self) -> Iterator[EntryCopy]:
        """All entries that are kept whole; see :mod:`newsbot.frontier.base`."""
        for fingerprint, raw in self._scripts.scan("entries"):
            yield entry_copy(fingerprint, raw)

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Keep entries that are not known yet; see :mod:`newsbot.frontier.base`."""
        for start in range(0, len(copies), _CHUNK):
            chunk = copies[start : start + _CHUNK]
            given = [value for copy in chunk for value in values(copy, self._within(copy.entry.kind))]
            self._scripts.take([copy.entry.fingerprint for copy in chunk], given)

    def close(self) -> None:
        """Release the connection. Does not hand leases back: call :meth:`release` first."""
        self._client.close()


def _flat(rows: Sequence[list[bytes | str]]) -> list[bytes | str]:
    return [value for row in rows for value in row]
