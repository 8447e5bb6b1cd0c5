"""The frontier in Redis, for any number of workers. :mod:`newsbot.frontier.base` documents its guarantees.

Each change is one Lua script, which Redis runs atomically. Entries that are pending, leased, set aside or due
again are stored in full. A URL that is done and never due again is a *known URL*: only the minute of its last
fetch is stored (15 bytes). For a known URL, :meth:`RedisFrontier.entry` returns None; the storage has its
history.

The current time is that of the server's clock. ``horizon`` and the due times of entries come from the clocks
of the workers. These clocks should differ by less than a second (NTP).
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from newsbot.clock import Clock
from newsbot.config.check import SettingsLike
from newsbot.connections.redis import close, connect, readable_errors, refuse_eviction, server_name
from newsbot.errors import DataError, SchemaError
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
"""Version of the key layout."""

_CHUNK = 500  # entries per round trip
_PAGE = 200  # minimum number of hosts read per round trip
_VERDICTS = {"N": Added.NEW, "K": Added.KNOWN, "S": Added.SOONER}
_SETTLE_ROUNDS = 10

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
        keys = Keys(namespace, shard)
        self._meta = keys.meta
        self._scripts = Scripts(self._client, keys, self._place, clock)
        try:
            self._check_server(keys)
        except DataError:
            self.close()
            raise

    def _check_server(self, keys: Keys) -> None:
        with readable_errors(self._place):
            # Several workers may start at the same time. HSETNX writes nothing if a value exists, so all of
            # them then read the values of the first worker.
            self._client.hsetnx(keys.meta, "version", str(VERSION))
            version = int(self._client.hget(keys.meta, "version") or 0)
        if version > VERSION:
            raise SchemaError(f"{self._place}: frontier was written by a newer newsbot (version {version})")
        self._scripts.resume("", 0.0, [])  # reads the identity of the data, and the process that has them
        with readable_errors(self._place):
            refuse_eviction(self._client, self._place, "queued URLs")
        if not self._scripts.is_compact(LISTPACK):
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
        verdicts = ""
        rows = [arguments(entry) for entry in entries]
        for start in range(0, len(entries), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            fingerprints = [entry.fingerprint for entry in entries[start : start + _CHUNK]]
            verdicts += self._scripts.add(fingerprints, _flat(chunk), force=force, respell=respell)
        return [_VERDICTS[letter] for letter in verdicts]

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done that were not fetched themselves; see the protocol."""
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
        alone: bool = False,
    ) -> list[Lease]:
        """Lease up to ``limit`` entries; see the protocol.

        This takes one round trip to the server, or two with ``accept``. More are needed only if ``accept``
        refuses many hosts.
        """
        if limit <= 0:
            return []
        if accept is None:
            return self._lease(owner, limit, horizon, ttl, (), alone=alone)
        leases: list[Lease] = []
        every: list[str] = []
        offset, page = 0, max(_PAGE, limit)
        # accept is a Python function, so Redis cannot call it: a page of hosts is read, and the accepted ones
        # are passed to the script.
        while len(leases) < limit:
            names = self._scripts.turns(horizon, offset, page)
            accepted = [name for name in names if accept(name)]
            got = self._lease(owner, limit - len(leases), horizon, ttl, accepted) if accepted else []
            leases += got
            every += accepted
            if len(names) < page:  # that was the last page of hosts
                break
            # hosts that gave an entry are no longer in the server's list, so the next page starts earlier
            offset += page - len({one.entry.host for one in got})
        # The hosts have nothing else. The call is repeated for a suspect, which must be leased alone.
        if alone and every and not leases:
            return self._lease(owner, 1, horizon, ttl, every[:page], alone=True)
        return leases

    def _lease(
        self,
        owner: str,
        limit: int,
        horizon: float,
        ttl: float,
        hosts: Sequence[str],
        *,
        alone: bool = False,
    ) -> list[Lease]:
        # One token for all leases of this call is enough, since a lease is found by fingerprint and token.
        call = secrets.token_hex(8).encode()
        now, found = self._scripts.lease(
            owner, call, limit, horizon=horizon, ttl=ttl, hosts=hosts, alone=alone
        )
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

    def ack(self, lease: Lease, *, next_due: float | None, fetched: bool = True) -> bool:
        """Mark the entry as done; see the protocol. Returns False if the caller no longer holds the lease."""
        within = self._within(lease.entry.kind)
        fingerprint, token = lease.entry.fingerprint, lease.token.encode()
        return self._scripts.ack(fingerprint, token, next_due, within, fetched=fetched)

    def _within(self, kind: Kind) -> float:
        """Return ``keep_within`` for entries of this kind, in seconds. Sources are always kept."""
        return math.inf if kind.is_source else self.keep_within

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed; see the protocol."""
        fingerprint, token = lease.entry.fingerprint, lease.token.encode()
        return self._scripts.nack(
            # setting an entry aside counts as a failed attempt in any case
            fingerprint,
            token,
            delay=max(0.0, delay),
            aside=aside,
            counted=counted or aside,
        )

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue; see the protocol. Return their number."""
        return self._scripts.release(owner, lost=lost)

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""
        return self._scripts.owners()

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``; see the protocol."""
        # All leases go in one call: the script returns the owner's leases that are not named, so parts would
        # return each other's leases.
        held = [(lease.entry.fingerprint, lease.token.encode()) for lease in leases]
        return Resumed(*self._scripts.resume(owner, ttl, held))

    def reap(self) -> int:
        """Reclaim expired leases, as every :meth:`lease` does. Return their number."""
        return self._scripts.reap()

    def refill(self, owner: str, *, ttl: float, until: float | None = None, reading: bool = False) -> Refill:
        """Acquire, renew or release the lock for refilling from the storage; see the protocol."""
        return Refill(*self._scripts.refill(owner, ttl, until, reading=reading))

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as done and never due again; see the protocol."""
        left = iter(fetched.items())
        while chunk := dict(islice(left, _CHUNK)):
            self._scripts.remember(chunk)

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that this frontier is refilled from; see the protocol."""
        with readable_errors(self._place):
            if instead:
                self._client.hset(self._meta, "storage", storage)
            else:
                self._client.hsetnx(self._meta, "storage", storage)
            told = self._client.hget(self._meta, "storage")
        return told.decode() if isinstance(told, bytes) else storage

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay (seconds) and its maximum number of leases; see the protocol.

        Raises ``ValueError`` for a delay below 0 or a concurrency below 1.
        """
        if not delay >= 0 or concurrency < 1:
            raise ValueError(f"{host}: delay {delay} and concurrency {concurrency} must be at least 0 and 1")
        self._scripts.politeness(host, delay, concurrency, at_least=at_least)

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. A rest is never shortened."""
        self._scripts.back_off(host, seconds)

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued; see the protocol."""
        return self._scripts.take_turn(host, missed)

    def return_turn(self, host: str) -> None:
        """Return the host's last turn; see the protocol."""
        self._scripts.return_turn(host)

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is known about these URLs. Unknown URLs are left out."""
        # Redis runs one script at a time, so a long call would block all other workers.
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
        """Return the current entry; None if it is unknown, or done and never due again."""
        raw = self._scripts.entry(fingerprint)
        return None if raw is None else record_of(fingerprint, raw).entry

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""
        if limit <= 0:
            return []
        return [record_of(fingerprint, raw).entry for fingerprint, raw in self._scripts.aside(limit)]

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return what is pending within ``horizon`` and when the next entry can be leased."""
        # Each call settles a batch of due entries, which makes them ready to be leased. The counts by host do
        # not contain due entries that are not settled yet. With ``accept`` the call is therefore repeated
        # until all are settled.
        for _ in range(_SETTLE_ROUNDS):
            now, overdue, leased, pending, moment, *hosts = self._scripts.outlook(
                horizon, by_host=accept is not None
            )
            if accept is None or not overdue:
                break
        next_at, host = optional(moment), None
        if accept is not None:
            rows = zip(hosts[::4], hosts[1::4], hosts[2::4], hosts[3::4], strict=True)
            taken = [(name.decode(), *row) for name, *row in rows if accept(name.decode())]
            leased = sum(out for _, out, _, _ in taken)
            pending = sum(urls for _, _, urls, _ in taken)
            moments = ((float(at), name) for name, _, _, at in taken if at)
            next_at, host = min(moments, default=(None, None))
        if overdue:  # due entries that are not settled yet; the next call settles and leases them
            pending, next_at, host = pending + overdue, float(now), None
        return Outlook(next_at=next_at, pending=pending, leased=leased, host=host)

    def counts(self) -> dict[str, int]:
        """Return the number of entries in each state: keys pending, leased, done, aside, hosts."""
        names = ("pending", "leased", "done", "aside", "hosts")
        # the script returns a sixth number, the known URLs
        return dict(zip(names, self._scripts.stats(), strict=False))

    def watch(self) -> Watch:
        """Return the current workers and lag."""
        now, late, workers = self._scripts.watch()
        return Watch(now, late, [Worker(*one) for one in sorted(workers)])

    # --- copies
    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired."""
        return self._scripts.at_work()

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of a host; None for an unknown host."""
        raw = self._scripts.host(name)
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
        for start in range(0, len(copies), _CHUNK):
            chunk = copies[start : start + _CHUNK]
            given = [value for copy in chunk for value in values(copy, self._within(copy.entry.kind))]
            self._scripts.take([copy.entry.fingerprint for copy in chunk], given)

    def close(self) -> None:
        """Close the connection. Leases are not returned: call :meth:`release` first."""
        close(self._client)


def _flat(rows: Sequence[list[bytes | str]]) -> list[bytes | str]:
    return [value for row in rows for value in row]
