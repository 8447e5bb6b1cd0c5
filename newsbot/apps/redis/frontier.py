"""The frontier in Redis, for any number of workers. :mod:`newsbot.frontier.base` documents its guarantees.

Each change is one Lua script, which Redis runs atomically. Entries that are pending, leased, set aside or due
again are stored in full. A URL that is done and never due again is a *known URL*: only the minute of its last
fetch is stored (15 bytes). For a known URL, :meth:`RedisFrontier.entry` returns None. The storage has the
history of this URL.

The hosts may be divided among several queues (queues.py). A call for several hosts then runs one script for
each queue, and is atomic for each queue only. An entry with a turn may be leased before an entry of another
queue whose turn came earlier.

The current time is that of the server's clock. ``horizon`` and the due times of entries come from the clocks
of the workers. These clocks should differ by less than a second (NTP).
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from newsbot.apps.redis.connection import (
    Argument,
    close,
    connect,
    logs_writes,
    readable_errors,
    refuse_eviction,
    server_name,
)
from newsbot.apps.redis.queues import (
    LISTPACK,
    STATES,
    VERSION,
    Ahead,
    Division,
    Keys,
    QueuesChanged,
    Scripts,
    StoredEntry,
    arguments,
    change,
    entry_copy,
    home,
    host_copy,
    optional,
    read_division,
    record_of,
    values,
)
from newsbot.clock import Clock
from newsbot.config.settings import SettingsLike
from newsbot.errors import DataError, DataUnavailable, SchemaError
from newsbot.frontier.base import (
    Added,
    Entry,
    EntryCopy,
    HostCopy,
    Known,
    Lease,
    Outlook,
    RefillTurn,
    Resumed,
    Watch,
    Worker,
)
from newsbot.items import Bounded, Kind, batched

logger = logging.getLogger(__name__)

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
_LOCKED = 60  # seconds until another process may go on with a change of the number of queues
_MOVING = 1.0  # seconds for which one call works on a change that another process has begun
_OWNERS = 1000  # owners whose suspects are remembered

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class RedisFrontier:
    """A :class:`newsbot.frontier.base.Frontier` in Redis.

    ``where`` is a URL (``redis://…``) or settings with the names of scrapy-redis. ``namespace``
    distinguishes frontiers on one server. :class:`newsbot.frontier.base.LeanFrontier` documents
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
        keep_within: float = math.inf,
        clock: Clock | None = None,
    ) -> None:
        settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
        self._place = server_name(settings)
        self.keep_within = keep_within
        self._client = connect(settings)
        self._namespace, self._clock = namespace, clock
        self._division = Division(0)
        self._queues: list[Scripts] = []
        """The queues by number, with those in which known URLs are still looked up."""
        self._next = 0
        """Number of calls of :meth:`lease`. Each begins with another queue."""
        self._suspects = Bounded[str, str](_OWNERS)
        """The host of the last suspect of each owner, if there are several queues."""
        self._change: Iterator[int] | None = None
        """The change of the number of queues that this process works on."""
        self._id = secrets.token_hex(8)
        self._first = self._queue(0, "")
        try:
            self._check_server()
        except DataError:
            self.close()
            raise

    def _queue(self, index: int, queues: str) -> Scripts:
        return Scripts(self._client, Keys(self._namespace, index), self._place, self._clock, queues)

    def _check_server(self) -> None:
        keys = self._first.keys
        with readable_errors(self._place):
            # Several workers may start at the same time. HSETNX writes nothing if a value exists, so all
            # workers then read the value of the first worker.
            self._client.hsetnx(keys.meta, "version", "1")
            version = int(self._client.hget(keys.meta, "version") or 0)
        if version > VERSION:
            raise SchemaError(f"{self._place}: frontier was written by a newer newsbot; upgrade newsbot")
        self._follow()
        with readable_errors(self._place):
            refuse_eviction(self._client, self._place, "queued URLs")
        # probe.lua stores a hash with this number of fields
        if not self._every(lambda one: one.run("probe", LISTPACK, keys=[one.keys.probe]))[0]:
            logger.warning(
                "known URLs need several times the usual memory place=%s fault=hash-max-listpack-entries is"
                " below %d: raise it in redis.conf",
                self._place,
                LISTPACK,
            )

    # --- several queues
    def divide(self, queues: int) -> bool:
        """Divide the hosts among ``queues`` queues; see queues.py. Return False if this is not possible
        now."""
        while True:
            self._follow()
            if self._division.queues == queues:
                return True
            if self._division.known_from or not self._locks():
                return False
            logger.info("queue is divided again queues=%d; all workers wait", queues)
            if self._go_on(self._division.queues, queues, math.inf):
                self._follow()
                logger.info("queue is divided queues=%d", queues)
                return True

    def _follow(self) -> None:
        """Use the number of queues that is stored. Raises :class:`DataUnavailable` while it is changed."""
        if self._division.queues > 1:  # the node of the first queue may have lost its data
            with readable_errors(self._place):
                self._client.hsetnx(self._first.keys.meta, "queues", str(self._division.queues))
        stored = read_division(self._first)
        if stored.target and self._locks() and self._go_on(stored.queues, stored.target, _MOVING):
            stored = read_division(self._first)
        if stored.target:
            raise DataUnavailable(
                f"{self._place}: the queue is being divided ({stored.queues} to {stored.target} queues);"
                " wait until this is done"
            )
        if stored == self._division:
            self._mend(stored)
            return
        mark = str(stored.queues)
        queues = self._queues[: stored.opened]
        for one in queues:
            one.queues = mark
        for index in range(len(queues), stored.opened):
            queues.append(self._queue(index, mark))
            queues[-1].resume("", 0.0, [])  # reads the identities of the data and the server process
        self._queues, self._division = queues, stored

    def _mend(self, stored: Division) -> None:
        """Write the number of queues to those that have another one, for example because they lost their
        data."""
        mark = str(stored.queues)
        for index in range(1, stored.queues):
            present = (self._queues[index].fields("queues")[0] or b"1").decode()
            if present != mark and read_division(self._first) == stored:
                with suppress(QueuesChanged):
                    self._queue(index, present).run("mark", mark)

    def _locks(self) -> bool:
        """Acquire or renew the right to move hosts or known URLs. Return False if another process has it."""
        key = self._first.keys.lock
        with readable_errors(self._place):
            if self._client.set(key, self._id, nx=True, ex=_LOCKED):
                return True
            if self._client.get(key) != self._id.encode():
                return False
            self._client.expire(key, _LOCKED)
        return True

    def _go_on(self, before: int, after: int, seconds: float) -> bool:
        """Work on a change of the number of queues. Return True when it is done."""
        began = time.monotonic()
        if self._change is None:
            self._change = change(self._queue, before, after)
        try:
            for moved in self._change:
                if moved and not self._locks():
                    break
                if time.monotonic() - began > seconds:
                    return False
            else:
                with readable_errors(self._place):
                    self._client.delete(self._first.keys.lock)
                self._change = None
                return True
        except QueuesChanged:  # another process has done it
            pass
        except BaseException:
            self._change = None
            raise
        self._change = None
        return False

    @property
    def _present(self) -> list[Scripts]:
        return self._queues[: self._division.queues]

    def _every(self, work: Callable[[Scripts], _Answer], *, opened: bool = False) -> list[_Answer]:
        """Call ``work`` for each queue, with ``opened`` also for those in which known URLs are looked up.

        Return the results.
        """
        while True:
            try:
                return [work(one) for one in (self._queues if opened else self._present)]
            except QueuesChanged:
                self._follow()

    def _at(self, host: str, name: str, *values: Argument | None) -> Any:
        """Run a script on the queue of a host."""
        while True:
            try:
                return self._queues[home(host, self._division.queues)].run(name, *values)
            except QueuesChanged:
                self._follow()

    def _spread(
        self,
        items: Sequence[_Item],
        hosts: Iterable[str],
        work: Callable[[Scripts, Sequence[_Item]], Sequence[_Answer]],
    ) -> list[_Answer]:
        """Call ``work`` for the items of each queue. Return the results in the order of the items.

        If the number of queues changes, the items that are left are divided again.
        """
        found: dict[int, _Answer] = {}
        of_host = list(hosts)
        while len(found) < len(items):
            groups = defaultdict[int, list[int]](list)
            for place, host in enumerate(of_host):
                if place not in found:
                    groups[home(host, self._division.queues)].append(place)
            try:
                for index, places in groups.items():
                    for some in batched(places, _CHUNK):
                        answers = work(self._queues[index], [items[place] for place in some])
                        found.update(zip(some, answers, strict=True))
            except QueuesChanged:
                self._follow()
        return [found[place] for place in range(len(items))]

    def _move_known(self, keys: Sequence[bytes], hosts: Sequence[str]) -> None:
        """Move known URLs to the queues that their hosts have now; see queues.py. Does not follow."""
        before, now = self._division.known_from, self._division.queues
        if not before:
            return
        moved = defaultdict[tuple[int, int], list[bytes]](list)
        for key, host in zip(keys, hosts, strict=True):
            if (old := home(host, before)) != (new := home(host, now)):
                moved[old, new].append(key)
        for (old, new), some in moved.items():
            source, target = self._queues[old], self._queues[new]
            answer = source.run_on("known", some, *some)
            found = {
                key: fetched
                for key, state, fetched in zip(some, answer[::3], answer[1::3], strict=True)
                if state
            }
            if found:
                target.grow(target.run_on("remember", list(found), *chain.from_iterable(found.items())))
                source.run_on("forget", list(found), *found)

    def known_to_move(self) -> bytes | None:
        """Return the last page whose URL was looked up for :meth:`move_known`; see the protocol."""
        if not self._division.known_from or not self._locks():
            return None
        return self._first.fields("known_at")[0] or b""

    def move_known(self, pages: Mapping[bytes, str], *, last: bool) -> None:
        """Move known URLs to the queues of their hosts; see the protocol."""
        keys = list(pages)
        self.known(keys, list(pages.values()))
        if not last:
            with readable_errors(self._place):
                self._client.hset(self._first.keys.meta, "known_at", keys[-1])
            return
        with readable_errors(self._place):
            self._client.hdel(self._first.keys.meta, "known_from", "known_at")
            for one in self._queues[self._division.queues :]:
                one.forget_all()
            self._client.delete(self._first.keys.lock)
        self._follow()

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False, respell: bool = False) -> list[Added]:
        """Queue new entries; see :meth:`newsbot.frontier.base.Frontier.add`.

        Only a call with up to 500 entries of one queue is atomic.
        """

        def add(one: Scripts, rows: Sequence[tuple[Entry, list[bytes | str]]]) -> list[Added]:
            keys = self._keys_of(rows)
            answer = one.run_on("add", keys, force, respell, *chain.from_iterable(given for _, given in rows))
            return [_VERDICTS[letter] for letter in answer.decode()]

        return self._spread(_rows(entries), (entry.host for entry in entries), add)

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done although they were not fetched; see the protocol."""

        def mark(one: Scripts, rows: Sequence[tuple[Entry, list[bytes | str]]]) -> list[None]:
            given = chain.from_iterable(given for _, given in rows)
            one.grow(one.run_on("mark_done", self._keys_of(rows), next_due, *given))
            return [None] * len(rows)

        self._spread(_rows(entries), (entry.host for entry in entries), mark)

    def _keys_of(self, rows: Sequence[tuple[Entry, list[bytes | str]]]) -> list[bytes]:
        """Return the fingerprints of entries. Their known URLs are in the queues of their hosts then."""
        keys = [entry.fingerprint for entry, _ in rows]
        self._move_known(keys, [entry.host for entry, _ in rows])
        return keys

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

        This takes one round trip to the server for each queue that is asked, or a few with ``accept``. There
        may be very many hosts that are not accepted, or whose entries are due after the horizon. One call
        looks at a part of them. The next call goes on behind this part.
        """
        leases: list[Lease] = []
        if limit <= 0:
            return leases
        call = _Call(owner, limit, horizon, ttl, accept)
        while True:
            try:
                self._lease_from_all(call, leases, alone=alone)
                return leases
            except QueuesChanged:
                if leases:
                    return leases
                self._follow()
            except DataError:
                if not leases:
                    raise
                return leases  # the next call raises the error

    def _lease_from_all(self, call: _Call, leases: list[Lease], *, alone: bool) -> None:
        queues = self._present
        if len(queues) == 1:
            self._lease_from(queues[0], call, leases, alone=alone, suspects=True)
            return
        self._next += 1
        first = self._next % len(queues)
        holder = self._holder_of_suspect(call.owner)
        # A suspect that must be leased alone is leased only if no queue has anything else.
        for last in (False, True) if alone else (False,):
            for one in queues[first:] + queues[:first]:
                if len(leases) >= call.limit or (last and leases):
                    return
                before = len(leases)
                self._lease_from(one, call, leases, alone=last, suspects=holder in (None, one))
                for lease in leases[before:]:
                    if lease.lost:
                        self._suspects[call.owner] = lease.entry.host
                        holder = one

    def _holder_of_suspect(self, owner: str) -> Scripts | None:
        """Return the queue of the suspect that the owner has leased; None if it has none."""
        host = self._suspects.get(owner)
        if host is None:
            return None
        one = self._queues[home(host, self._division.queues)]
        if one.run("suspect", owner):
            return one
        self._suspects.pop(owner, None)
        return None

    def _lease_from(
        self, one: Scripts, call: _Call, leases: list[Lease], *, alone: bool, suspects: bool
    ) -> None:
        if call.accept is None:
            offset = 0
            for _ in range(_PARTS):
                before = len(leases)
                rest = alone and not leases
                looked = _lease(one, call, leases, (), alone=rest, suspects=suspects, offset=offset)
                if len(leases) >= call.limit:
                    return
                behind = offset + looked - len({lease.entry.host for lease in leases[before:]})
                # The first part is looked at in each call, the others in turns.
                offset = one.offset = 0 if not looked else behind if offset else max(behind, one.offset)
                if not looked:
                    return
            return
        every: list[str] = []
        for names in filter(None, _hosts(one, call.horizon, max(_PAGE, call.limit), call.accept)):
            _lease(one, call, leases, names, suspects=suspects)
            every += names
            if len(leases) >= call.limit:
                return
        # These hosts have no ordinary entry to lease. The call is repeated for a suspect, which must be
        # leased alone.
        if alone and every and not leases:
            _lease(one, call, leases, every[:_PAGE], alone=True, suspects=suspects, most=1)

    def ack(self, lease: Lease, *, next_due: float | None, fetched: bool = True) -> bool:
        """Mark the entry as done; see the protocol. Returns False if the caller no longer holds the lease."""
        return self.ack_all([(lease, next_due)], fetched=fetched)[0]

    def ack_all(self, done: Sequence[tuple[Lease, float | None]], *, fetched: bool = True) -> list[bool]:
        """Do the same as :meth:`ack` for several pairs (lease, next_due)."""

        def ack(one: Scripts, some: Sequence[tuple[Lease, float | None]]) -> list[bool]:
            keys = [lease.entry.fingerprint for lease, _ in some]
            leases = [
                (lease.entry.fingerprint, lease.token, next_due, self._within(lease.entry.kind))
                for lease, next_due in some
            ]
            known, *held = one.run_on("ack", keys, fetched, *chain.from_iterable(leases))
            one.grow(known)
            return [bool(each) for each in held]

        return self._spread(done, (lease.entry.host for lease, _ in done), ack)

    def _within(self, kind: Kind) -> float:
        """Return ``keep_within`` for entries of this kind, in seconds. Sources are always kept."""
        return math.inf if kind.is_source else self.keep_within

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed; see the protocol."""
        key = lease.entry.fingerprint
        # setting an entry aside counts as a failed attempt in any case
        values = key, lease.token, max(0.0, delay), aside, counted or aside
        return bool(self._at(lease.entry.host, "nack", *values))

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue; see the protocol. Return their number."""
        return sum(self._every(lambda one: int(one.run("release", owner, lost))))

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""
        return self._names("owners")

    def _names(self, script: str) -> list[str]:
        """Return the names that a script finds in any queue."""
        return _decoded(dict.fromkeys(chain.from_iterable(self._every(lambda one: one.run(script)))))

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``; see the protocol."""
        emptied = replaced = False
        for lease in leases:
            if lease.lost:
                self._suspects[owner] = lease.entry.host
        while True:
            self._follow()
            kept = 0
            try:
                for index, one in enumerate(self._present):
                    # All leases of a queue must be in one call, because the script returns the owner's other
                    # leases to the queue.
                    held = [
                        (lease.entry.fingerprint, lease.token.encode())
                        for lease in leases
                        if home(lease.entry.host, self._division.queues) == index
                    ]
                    found = one.resume(owner, ttl, held)
                    kept, emptied, replaced = kept + found[0], emptied or found[1], replaced or found[2]
                return Resumed(kept, emptied, replaced)
            except QueuesChanged:
                continue

    def refill(
        self,
        owner: str,
        *,
        ttl: float,
        until: float | None = None,
        reading: bool = False,
        at: bytes = b"",
    ) -> RefillTurn:
        """Acquire, renew or release the lock for refilling from the storage; see the protocol.

        Each queue has a lock. Only the holder of the first one acquires the others.
        """
        yours = True

        def ask(one: Scripts) -> RefillTurn:
            nonlocal yours
            yours = yours or one is self._queues[0]
            given = (owner, ttl, until, reading, at) if yours else ("", ttl, None, True, b"")
            now, so_far, mine, since, behind = one.run("refill", *given)
            yours = yours and bool(mine)
            return RefillTurn(float(now), optional(so_far), bool(mine), optional(since), behind)

        turns = self._every(ask)
        unfilled = [turn.at for turn in turns if turn.until is None]
        return RefillTurn(
            now=turns[0].now,
            until=None if unfilled else min(turn.until for turn in turns if turn.until is not None),
            yours=yours,
            since=min((turn.since for turn in turns if turn.since is not None), default=None),
            at=min(unfilled, default=b""),
        )

    def remember(self, fetched: Mapping[bytes, float | None], hosts: Sequence[str]) -> None:
        """Record URLs as done and never due again; see the protocol."""

        def remember(one: Scripts, some: Sequence[tuple[bytes, float | None]]) -> list[None]:
            one.grow(one.run_on("remember", [key for key, _ in some], *chain.from_iterable(some)))
            return [None] * len(some)

        self._spread(list(fetched.items()), hosts, remember)

    def is_volatile(self) -> bool:
        """Return True if the server does not log its writes to a file; see the protocol."""
        with readable_errors(self._place):
            return not logs_writes(self._client)

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that this frontier is refilled from; see the protocol."""
        with readable_errors(self._place):
            meta = self._first.keys.meta
            if instead:
                self._client.hset(meta, "storage", storage)
            else:
                self._client.hsetnx(meta, "storage", storage)
            stored = self._client.hget(meta, "storage")
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
        self._at(host, "politeness", host, float(delay), concurrency, at_least)

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. A rest is never shortened."""
        self._at(host, "back_off", host, seconds)

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued; see the protocol."""
        return float(self._at(host, "take_turn", host, missed))

    def return_turn(self, host: str, turn: float) -> None:
        """Return the turn of a lease; see the protocol."""
        self._at(host, "return_turn", host, turn)

    # --- looking
    def known(self, fingerprints: Sequence[bytes], hosts: Sequence[str] = ()) -> dict[bytes, Known]:
        """Return what is known about these URLs. Unknown URLs are left out."""

        # Redis runs one script at a time, so a long call would block all other workers.
        def look(one: Scripts, some: Sequence[tuple[bytes, str]]) -> list[Known | None]:
            keys = [key for key, _ in some]
            if hosts:
                self._move_known(keys, [host for _, host in some])
            answer = one.run_on("known", keys, *keys)
            return [
                Known(state=STATES[state.decode()], last_fetched=optional(fetched), next_due=optional(due))
                if state
                else None
                for state, fetched, due in zip(answer[::3], answer[1::3], answer[2::3], strict=True)
            ]

        if hosts or self._division.opened == 1:
            pairs = list(zip(fingerprints, hosts or [""] * len(fingerprints), strict=True))
            found = self._spread(pairs, (host for _, host in pairs), look)
            return {key: known for key, known in zip(fingerprints, found, strict=True) if known is not None}
        every: dict[bytes, Known] = {}
        for some in batched([(key, "") for key in fingerprints], _CHUNK):
            for row in self._every(partial(look, some=some), opened=True):
                for (key, _), known in zip(some, row, strict=True):
                    # While known URLs are moved, a URL may be in two queues. Its entry counts then.
                    if known is not None and (key not in every or known.state != "done" or known.next_due):
                        every[key] = known
        return every

    def entry(self, fingerprint: bytes, host: str = "") -> Entry | None:
        """Return the current entry; None if it is unknown, or done and never due again."""
        if host:
            answers = [self._at(host, "entry", fingerprint)]
        else:
            answers = self._every(lambda one: one.run("entry", fingerprint))
        return next((record_of(fingerprint, raw).entry for raw in answers if raw is not None), None)

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""
        if limit <= 0:
            return []
        rows = chain.from_iterable(self._every(lambda one: one.run("aside", limit)))
        flat = list(rows)
        copies = sorted(map(entry_copy, flat[::2], flat[1::2]), key=lambda copy: -(copy.at or 0.0))
        return [copy.entry for copy in copies[:limit]]

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return the number of entries that are pending within ``horizon``, and the time of the next lease.

        With ``accept``, the hosts are read in pages. They may change between two pages.
        """
        found = self._every(lambda one: self._outlook(one, horizon, accept))
        soonest = min(found, key=lambda one: math.inf if one.next_at is None else one.next_at)
        return Outlook(
            next_at=soonest.next_at,
            pending=sum(one.pending for one in found),
            leased=sum(one.leased for one in found),
            host=soonest.host,
        )

    def _outlook(self, one: Scripts, horizon: float, accept: Callable[[str], bool] | None) -> Outlook:
        if accept is None:
            identity, now, overdue, leased, pending, moment, name = one.run("outlook", horizon, BATCH)
            one.compare_identity(identity)  # otherwise, a crawl would end after a loss of data
            next_at, host = optional(moment), name.decode() or None
        else:
            # Each first page settles a batch of due entries, which makes them ready to be leased. The counts
            # by host do not include due entries that are not settled yet. So this is repeated.
            for _ in range(_SETTLE_ROUNDS):
                now, overdue, rows = _ahead(one, horizon)
                if not overdue:
                    break
            ahead = Ahead()
            for part, raw, record, moment in rows:
                if accept(name := raw.decode()):
                    ahead.take(part, name, record, moment)
            leased, pending, moments = ahead.outlook()
            one.accepted.add(*moments)
            next_at, host = min(((at, name) for name, at in moments.items()), default=(None, None))
        if overdue:  # due entries that are not settled yet; the next call settles and leases them
            pending, next_at, host = pending + overdue, float(now), None
        return Outlook(next_at=next_at, pending=pending, leased=leased, host=host)

    def counts(self) -> dict[str, int]:
        """Return the number of entries by state (``pending``, ``leased``, ``done``, ``aside``), and of
        ``hosts``."""
        names = ("pending", "leased", "done", "aside", "hosts")
        # the script returns a sixth number, the number of known URLs
        rows = self._every(lambda one: one.run("stats")[: len(names)])
        return dict(zip(names, map(sum, zip(*rows, strict=True)), strict=True))

    def watch(self) -> Watch:
        """Return the current workers and lag."""
        workers: dict[str, Worker] = {}
        lates: list[float] = []
        answers = self._every(lambda one: one.run("watch"))
        for _, late, *rest in answers:
            lates += [] if late == b"" else [float(late)]
            for name, number, first in zip(_decoded(rest[::3]), rest[1::3], rest[2::3], strict=True):
                known = workers.get(name, Worker(name, 0, math.inf))
                workers[name] = Worker(name, known.leases + int(number), min(known.deadline, float(first)))
        return Watch(
            float(answers[0][0]), min(lates, default=None), [workers[name] for name in sorted(workers)]
        )

    # --- copies
    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired."""
        return self._names("at_work")

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of a host; None for an unknown host."""
        raw = self._at(name, "host", name)
        return None if raw is None else host_copy(name.encode(), raw)

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""
        self._follow()
        for one in self._present:
            for name, raw in one.scan("hosts"):
                yield host_copy(name, raw)

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries that are kept in full."""
        self._follow()
        for one in self._present:
            for fingerprint, raw in one.scan("entries"):
                yield entry_copy(fingerprint, raw)

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the copies of entries that are not known yet."""

        def take(one: Scripts, some: Sequence[EntryCopy]) -> list[None]:
            given = [value for copy in some for value in values(copy, self._within(copy.entry.kind))]
            one.grow(one.run_on("take", [copy.entry.fingerprint for copy in some], *given))
            return [None] * len(some)

        self._spread(copies, (copy.entry.host for copy in copies), take)

    def close(self) -> None:
        """Close the connection. Leases are not returned: call :meth:`release` first."""
        close(self._client)


def _rows(entries: Sequence[Entry]) -> list[tuple[Entry, list[bytes | str]]]:
    """Return the entries with the arguments that scripts take. If an entry is not valid, no call is made."""
    return [(entry, arguments(entry)) for entry in entries]


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of a call of :meth:`RedisFrontier.lease`."""

    owner: str
    limit: int
    horizon: float
    ttl: float
    accept: Callable[[str], bool] | None


def _lease(
    one: Scripts,
    call: _Call,
    leases: list[Lease],
    hosts: Sequence[str],
    *,
    suspects: bool,
    alone: bool = False,
    offset: int = 0,
    most: int | None = None,
) -> int:
    """Lease entries of ``hosts``, or of all hosts from ``offset`` on, and add the leases to ``leases``.

    Return the number of hosts that were looked at; 0 if there are no more.
    """
    # All leases of this call share one token, because a lease is identified by fingerprint and token.
    token = secrets.token_hex(8)
    wanted = call.limit - len(leases) if most is None else most
    given = wanted, call.ttl, call.owner, token, BATCH, alone, suspects, offset
    now, looked, *found = one.run("lease", call.horizon, *given, *hosts)
    leases += (
        Lease(
            entry=record.entry,
            owner=call.owner,
            token=token,
            deadline=float(now) + call.ttl,
            attempts=record.attempts,
            lost=record.lost,
            last_fetched=record.fetched,
            turn=float(now),
        )
        for record in _records(found)
    )
    return int(looked or 0)


def _hosts(one: Scripts, horizon: float, page: int, accept: Callable[[str], bool]) -> Iterator[list[str]]:
    """Yield accepted hosts to lease from: the first ones, those that are remembered, and some others.

    ``accept`` is a Python function, which Redis cannot call. A page of hosts is therefore read, and the
    accepted hosts are passed to the script.
    """
    seen = set[str]()  # ``accept`` may count the hosts that it accepts, so each host is asked once

    def turns(offset: int, names: Sequence[str] = ()) -> list[str]:
        return _decoded(one.run("turns", horizon, BATCH, offset, page, *names))

    def accepted(names: list[str]) -> list[str]:
        new = [name for name in names if name not in seen]
        seen.update(new)
        chosen = list(filter(accept, new))
        one.accepted.add(*chosen)
        return chosen

    first = turns(0)
    yield accepted(first)
    if len(first) < page:
        return  # that were all hosts
    for some in batched(list(islice(one.accepted, _REMEMBERED)), page):
        for name in some:
            one.accepted.move_to_end(name)  # the others come first in the next call
        yield accepted(turns(0, some))
    for _ in range(_PARTS - 1):
        offset = one.offset or page
        names = turns(offset)
        one.offset = 0 if len(names) < page else offset + page
        yield accepted(names)
        if not one.offset:
            return


def _ahead(one: Scripts, horizon: float) -> tuple[float, int, Iterator[tuple[int, bytes, bytes, bytes]]]:
    """Return the server's time, the number of entries to settle, and the rows of ``ahead.lua``."""

    def page(part: int, offset: int) -> list[Any]:
        found = one.run("ahead", horizon, BATCH, part, offset, _LOOKED)
        one.compare_identity(found[0])
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


def _records(found: Sequence[bytes]) -> Iterator[StoredEntry]:
    """Decode a flat list of fingerprints and records."""
    return map(record_of, found[::2], found[1::2])


def _decoded(names: Iterable[bytes]) -> list[str]:
    return [name.decode() for name in names]
