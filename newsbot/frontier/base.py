"""The interface of the frontier, which decides which URL is fetched next, by which worker, and when.

Every URL that was ever added is in exactly one state:

``pending``    waits to be leased (not before its ``due`` time, and not while it is held back)
``leased``     one worker processes it until the lease's deadline
``done``       was processed; becomes pending again at its next due time, if it has one
``aside``      failed or lost its lease too often; kept with its history, never leased

A page can kill the worker that fetches it (it takes all memory, or triggers a fault in a C library). The
worker then loses all its leases, including those of harmless pages. An entry whose lease was lost is
therefore a *suspect* until it is processed successfully. A worker gets one suspect at a time, so that
harmless entries clear themselves. The suspect with the fewest lost leases goes first: if workers keep dying,
a different suspect is in flight each time. After three more lost leases a suspect waits until a worker has
nothing else to do, and is tried once more, alone. If that lease is lost as well, the entry is set aside.

A backend object is used by one thread; several processes may share the same data. All times are POSIX
seconds of the backend's own clock. Backend failures are raised as :class:`newsbot.errors.DataError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Protocol, TypedDict, runtime_checkable

from newsbot.items import Kind

ALONE: Final = 4
"""Number of leases lost in a row after which a suspect is tried alone.

The first one is lost among other entries, the next three as the only suspect.
"""
MAX_LOST: Final = ALONE + 1
"""Number of leases lost in a row after which an entry is set aside."""
ASIDE: Final = "aside"
"""Key in the data of an entry that was set aside; its value is the reason."""


class EntryData(TypedDict, total=False):
    """Data stored with an entry, as JSON. Entries of a crawl have the first five fields."""

    source: str
    """The domain of the rule that the entry belongs to."""
    referrer: str | None
    where: str
    """A :class:`newsbot.items.Where`."""
    discovered_at: float
    """POSIX seconds."""
    why: str
    """Why it was queued, see :func:`newsbot.items.read_reason`."""
    title: str
    published_at: str
    authors: list[str]
    """Author names as written in the feed."""
    force: bool
    """True if a person requested the URL."""
    again: bool
    """True if the entry was queued from the stored record of a known page."""
    ruled: bool
    """True for a source that was found through a rule."""
    tried: list[str]
    """Spellings of the URL that failed before this one."""
    same_headline: bytes
    """Fingerprint of the URL that had the headline first; set only while links are judged."""
    aside: str
    """Why the entry was set aside, as text for people (:data:`ASIDE`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A URL to be queued."""

    url: str
    """Absolute URL as the site wrote it; this one is fetched."""
    fingerprint: bytes
    """16-byte hash of the canonical URL; it identifies the entry."""
    host: str
    """The key by which requests are paced, e.g. ``example.org``."""
    kind: Kind
    priority: float = 0.0
    """Within a host, entries with a higher priority are leased first."""
    due: float = 0.0
    """Earliest time at which the entry may be leased; 0 means immediately."""
    depth: int = 0
    data: EntryData = field(default_factory=EntryData)


class Added(StrEnum):
    """The result of :meth:`Frontier.add` for one entry."""

    NEW = "new"
    KNOWN = "known"
    SOONER = "sooner"
    """The entry was known; its due time or priority has been moved up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to process an entry until ``deadline``. ``token`` proves that the lease is valid."""

    entry: Entry
    owner: str
    token: str
    deadline: float
    attempts: int
    """Failed attempts before this one: nacks and lost leases since the last success."""
    lost: int = 0
    """Number of leases lost in a row, because the worker died or hung.

    Above 0 the entry is a suspect; from :data:`ALONE` on it is leased alone.
    """
    last_fetched: float | None = None
    """Time of the last ack of the entry; None if it was never acked."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The result of :meth:`Frontier.resume`."""

    kept: int
    """Number of leases that the owner still holds or holds again."""
    emptied: bool = False
    """True if the server restarted without its data, so that this is a different frontier."""


FETCH_STEP = 60.0
"""Resolution in seconds of a known URL's last fetch; a frontier may round the time up to whole steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the frontier knows about a URL without asking the storage."""

    state: str
    last_fetched: float | None
    """POSIX seconds; may be up to :data:`FETCH_STEP` too late."""
    next_due: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The pending work, as reported by :meth:`Frontier.outlook`."""

    next_at: float | None
    """When the next entry can be leased. A time in the past means now; None means that nothing is pending."""
    pending: int
    """Number of pending entries within the horizon, including those that have just fallen due."""
    leased: int
    """Current leases of all owners within the same horizon and hosts."""
    host: str | None = None
    """Host of the entry that can be leased next; Redis reports it only if ``accept`` was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCopy:
    """The politeness settings and next turn of a host. Times are POSIX seconds."""

    host: str
    delay: float
    concurrency: int
    next_turn: float


class Frontier(Protocol):
    """Interface of all frontiers. The module docstring describes states and guarantees."""

    @property
    def place(self) -> str:
        """Name of the data's place in messages: ``data file``, or the product name of the server."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False, respell: bool = False) -> list[Added]:
        """Queue new entries. Return one result for each entry, in order. Idempotent.

        A known entry stays unchanged, with these exceptions:

        * A pending entry takes the higher priority and the earlier due time (``SOONER``).
        * A pending entry without ``published_at`` takes the data of a new one that has it, all but
          ``discovered_at``. This happens if a page linked the URL first and a feed listed it later.
        * With ``force``, a done or aside entry becomes pending at ``entry.due`` with the new url and data
          (``SOONER``).
        * With ``respell``, a pending entry that was never fetched also takes url, host, kind and data.

        A leased entry is never changed.
        """

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done that were not fetched themselves (they are known under another URL).

        Leased entries and entries that were fetched before keep their state.
        """

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
        """Lease up to ``limit`` entries that are due at or before ``horizon``, for ``ttl`` seconds.

        Leases past their deadline are reclaimed first. A host gives at most one entry per turn: each lease
        moves the host's next turn by its delay. A host never has more leases than its concurrency. Hosts
        are served in the order of their turns; within a host the highest priority goes first, then the
        oldest entry. An owner never holds more than one suspect (an entry that lost its last lease); a
        suspect goes before the other entries of its host.

        Hosts that ``accept`` refuses are skipped; there may be many of them if only some sites are crawled.
        With ``alone`` (the worker has nothing in flight) and nothing else to lease, the owner gets one
        suspect that lost :data:`ALONE` leases. The worker must process no other entry at the same time.
        """

    def ack(self, lease: Lease, *, next_due: float | None) -> bool:
        """Mark the entry as done, after its result was stored. It is due again at ``next_due`` (None: never).

        Returns False and changes nothing if the caller no longer holds the lease. A :class:`LeanFrontier`
        does not have to keep a late ``next_due``: the storage must already have it.
        """

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed: the entry is pending again after ``delay`` seconds, or set aside.

        Returns False like :meth:`ack`. With ``counted`` False the attempt is not counted, because the entry
        did not cause the failure.
        """

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue. Return their number.

        No attempt is counted, unless ``lost`` is True (the owner died): then they count as lost leases.
        """

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""

    def extend(self, owner: str, ttl: float) -> int:
        """Let all leases of ``owner`` end ``ttl`` seconds from now (the heartbeat). Return their number."""

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Continue work after the frontier was unreachable for longer than leases last.

        Those of ``leases`` that the owner still holds now end ``ttl`` seconds from now. A lease that was
        reclaimed in the meantime is given to the owner again, unless another worker holds the entry. In both
        cases the loss is not counted, since no worker died. Call this before any other method once the
        frontier responds again.
        """

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay between turns (seconds) and its maximum number of leases.

        The new delay counts from the last turn. A longer rest of the host is kept. With ``at_least`` a known
        host is only made slower, since another worker may have set a stricter limit.
        """

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest: its next turn is at least ``seconds`` from now. A rest is never shortened."""

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued. Return the seconds until then.

        ``missed`` is a past turn (POSIX seconds) that the caller reserved and did not use. If it is still
        the host's last turn, the caller's turn is now, unless the host rests.

        The call is atomic: no other caller gets this turn, and the next one is a delay later. Requests made
        outside the queue thus share the pace of the crawl. Leases and entries are not changed.
        """

    def return_turn(self, host: str) -> None:
        """Return the host's last turn, because the leased entry needed no request.

        The next turn is now, unless the host rests (:meth:`back_off`).
        """

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is known about these URLs, by fingerprint. Unknown URLs are left out."""

    def entry(self, fingerprint: bytes) -> Entry | None:
        """Return the current entry, for diagnosis; None if it is unknown.

        A backend may return None for an entry that is done and never due again: the storage has its history.
        """

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of the host with this key; None for an unknown host."""

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return what is pending within ``horizon`` and when the next entry can be leased.

        With ``accept``, only the hosts that it accepts count. A suspect that waits only because the worker
        holds another suspect counts as if it could be leased.
        """

    def counts(self) -> dict[str, int]:
        """Return the number of entries in each state: keys pending, leased, done, aside, hosts."""

    def close(self) -> None:
        """Close the backend. Leases are not returned: call :meth:`release` first."""


@dataclass(frozen=True, slots=True)
class Refill:
    """The result of :meth:`LeanFrontier.refill`. Times are those of the frontier's clock."""

    now: float
    until: float | None
    """All pages that the storage has due until this time have been queued; None: no refill yet."""
    yours: bool
    """True if the caller may query the storage now."""


@runtime_checkable
class LeanFrontier(Frontier, Protocol):
    """A frontier that keeps only entries that are due soon. It is refilled from the storage."""

    @property
    def keep_within(self) -> float:
        """Seconds. Entries that are due later are kept as known URLs only; sources are always kept."""

    def refill(self, owner: str, *, ttl: float, until: float | None = None) -> Refill:
        """Acquire or renew the refill lock for ``ttl`` seconds. Only one worker holds it at a time.

        With ``until`` the holder reports that it queued all pages the storage has due until then, and
        releases the lock.
        """

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as done and never due again: fingerprint -> time of the last fetch (None: never).

        URLs that are already known stay unchanged.
        """

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that this frontier is refilled from.

        The first ``storage`` passed is kept; later ones are ignored unless ``instead`` is True.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCopy:
    """An entry with its state and counters. A leased entry is copied as pending."""

    entry: Entry
    state: Literal["pending", "held", "done", "aside"]
    """``held`` means pending after a delay."""
    at: float | None = None
    """``held``: end of the delay; ``done``: next due time (None: never); ``aside``: time of setting aside."""
    last_fetched: float | None = None
    attempts: int = 0
    lost: int = 0


class FrontierTransfer(Protocol):
    """Methods to copy a frontier, in addition to :class:`newsbot.frontier.base.Frontier`."""

    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired. Unlike :meth:`Frontier.lease`, read-only."""

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries that are kept in full; the others are in the pages of the storage."""

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the copies of entries that are not known yet."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that holds leases. Times are POSIX seconds of the frontier's clock."""

    owner: str
    leases: int
    deadline: float
    """When the first of its leases expires, unless a heartbeat extends it."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The workers and the lag of a frontier at one moment."""

    now: float
    overdue_since: float | None
    """The earliest due time of the entries that are late; None if none is.

    Entries that were queued for an immediate fetch have no due time and are ignored.
    """
    workers: list[Worker]
    """Sorted by name."""

    @property
    def lag(self) -> float:
        """Seconds by which the planned work is late."""
        return 0.0 if self.overdue_since is None else max(0.0, self.now - self.overdue_since)


@runtime_checkable
class Watched(Protocol):
    """A frontier that reports its workers and its lag."""

    def watch(self) -> Watch:
        """Return the current workers and lag."""
