"""The frontier: which URL is fetched next, by whom, and when.

Every URL that was ever added is in exactly one state:

``pending``    waits to be handed out (not before its ``due``, nor while it is held back)
``leased``     one worker works on it until its deadline
``done``       was worked on; becomes pending by itself when its next due time comes (if it has one)
``aside``      lost its lease or failed too often; kept with its story, never handed out

A worker may die of what it fetched (a page that takes all memory, a fault in a C library), and loses the
leases of all that it had in flight then. So an entry whose lease was lost is a *suspect* until it is worked
on without harm, and a worker is given one suspect at a time: the innocent ones clear themselves, the one
that kills is set aside at its third loss, mostly alone. Of suspects the one that lost fewer leases goes
first: where workers are killed again and again, each time another one is in flight.

A backend is used by one thread; several processes may share the same data. All times are POSIX
seconds of the backend's own clock. Faults of the backend surface as :class:`newsbot.errors.DataError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Protocol, TypedDict, runtime_checkable

from newsbot.items import Kind

ASIDE: Final = "aside"
"""Key in the data of an entry that was set aside: why."""


class EntryData(TypedDict, total=False):
    """What travels with an entry, in JSON. Entries of a crawl have the first five fields."""

    source: str
    """The domain of the rule."""
    referrer: str | None
    where: str
    """A :class:`newsbot.items.Where`."""
    discovered_at: float
    """POSIX seconds."""
    why: str
    """Why it was queued, see :func:`newsbot.items.read_reason`."""
    title: str
    published_at: str
    force: bool
    """A person asked for it."""
    again: bool
    """It was queued from the record of a known page."""
    ruled: bool
    """A source that a rule led to."""
    same_headline: bytes
    """While links are judged only: the fingerprint of the address that had the headline first."""
    aside: str
    """Why it was set aside, for people (:data:`ASIDE`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A URL to be queued."""

    url: str
    """Absolute, as the site wrote it: this is what is fetched."""
    fingerprint: bytes
    """16 bytes of the canonical URL: the identity of the entry."""
    host: str
    """The politeness key."""
    kind: Kind
    priority: float = 0.0
    """Higher is handed out first, within a host."""
    due: float = 0.0
    """Not before this moment; 0 means at once."""
    depth: int = 0
    data: EntryData = field(default_factory=EntryData)


class Added(StrEnum):
    """What became of an entry handed to :meth:`Frontier.add`."""

    NEW = "new"
    KNOWN = "known"
    SOONER = "sooner"
    """Was known, and its due time or priority has been moved up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to work on an entry until ``deadline``; ``token`` proves it."""

    entry: Entry
    owner: str
    token: str
    deadline: float
    attempts: int
    """Failed attempts before this one: nacks and lost leases since the last success."""
    lost: int = 0
    """Leases lost in a row (worker died); above 0 it is a suspect, three put the entry aside."""
    last_fetched: float | None = None
    """When the entry was worked on to its end last; None: never."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """What :meth:`Frontier.resume` found."""

    kept: int
    """Leases that are the owner's again, or still."""
    emptied: bool = False
    """The frontier is not the one that was opened: its server came back without its data."""


FETCH_STEP = 60.0
"""Seconds: of a URL that is merely known a frontier may keep the last fetch in whole steps, upwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the frontier knows of a URL without asking storage."""

    state: str
    last_fetched: float | None
    """POSIX seconds, or less than :data:`FETCH_STEP` later."""
    next_due: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is still to come, as seen by :meth:`Frontier.outlook`."""

    next_at: float | None
    """When something can be leased (may lie in the past: at once); None: nothing is pending."""
    pending: int
    leased: int
    """Leases out now within the same bounds, over all owners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCopy:
    """How a host is treated. Times in POSIX seconds."""

    host: str
    delay: float
    concurrency: int
    next_turn: float


class Frontier(Protocol):
    """See the module's text for states and guarantees."""

    @property
    def place(self) -> str:
        """What people call the place of the data: ``data file`` or the server's product."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False) -> list[Added]:
        """Queue what is new; one verdict an entry, in order. Idempotent.

        A known entry stays as it is, except: a pending one takes the higher priority and the
        earlier due time (``SOONER``); with ``force`` a done or aside one becomes pending at
        ``entry.due`` with the new url and data (``SOONER``). A leased one is never changed.
        """

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done without a fetch of their own (known under another address).

        Leased entries and those fetched before keep their state.
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
    ) -> list[Lease]:
        """Hand out up to ``limit`` entries that are due at or before ``horizon``.

        First reclaims leases past their deadline. At most one entry a host and turn of its clock:
        each handing-out moves the host's clock by its delay, and a host never has more leases out
        than its concurrency. Best priority first within a host, oldest first among equals;
        hosts whose turn came first go first. An owner never holds more than one suspect (an entry that
        lost its last lease); this one goes before the others of its host. Leases last ``ttl`` seconds.
        Hosts that ``accept`` refuses are passed over (a crawl of some sites only), however many they are.
        """

    def ack(self, lease: Lease, *, next_due: float | None) -> bool:
        """The work is done and stored: the entry is done, and due again at ``next_due`` (None: never).

        False, and nothing changes, when the lease is no longer the caller's.
        A :class:`LeanFrontier` may leave a later ``next_due`` to the storage, where it has to stand already.
        """

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """The work failed: pending again after ``delay`` seconds, or set aside. False as in ack.

        With ``counted`` False it is no failed attempt: the entry itself is not to blame.
        """

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Hand back all leases of ``owner`` at once; how many.

        Counts no attempt, unless ``lost`` says that the owner died: then they count as lost leases.
        """

    def owners(self) -> list[str]:
        """Who holds leases now."""

    def extend(self, owner: str, ttl: float) -> int:
        """Heartbeat: all leases of ``owner`` now end ``ttl`` seconds from now; how many."""

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Go on with work after the frontier could not be reached for longer than leases last.

        All of these leases that are still the owner's now end ``ttl`` seconds from now. One that was taken
        back meanwhile is the owner's again, unless somebody else has it now; in either case its loss is not
        counted: nobody died. To be called before anything else, once the frontier answers again.
        """

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set what one turn of the host's clock lasts (seconds) and how many leases it may have out.

        With ``at_least`` a known host never becomes faster by it: another worker may know better.
        """

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest: its clock does not strike before ``seconds`` from now. Never shortens."""

    def take_turn(self, host: str) -> float:
        """Take the host's next turn for a request that is not queued here; seconds until it comes.

        Atomic: nobody else is given this turn, and the clock strikes again one delay after it. So what
        asks beside the crawl shares its pace. Leases and entries stay as they are.
        """

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
        """What is known of those URLs; unknown ones are missing from the answer."""

    def entry(self, fingerprint: bytes) -> Entry | None:
        """The entry as it stands, for people who ask why.

        A backend may answer None for what is done and never due again: its story is in the storage.
        """

    def host(self, name: str) -> HostCopy | None:
        """Return how the host with this key is treated; None for a host that is not known."""

    def aside(self, limit: int) -> list[Entry]:
        """The entries that were set aside last, the newest first; ``data[ASIDE]`` of each says why."""

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """What is pending within ``horizon`` (on hosts that ``accept`` takes) and when the next entry
        can be leased; one that waits only because its worker holds another suspect counts as if it could."""

    def counts(self) -> dict[str, int]:
        """How many entries are in each state: keys pending, leased, done, aside, hosts."""

    def close(self) -> None:
        """Release the backend. Does not hand leases back: call :meth:`release` first."""


@dataclass(frozen=True, slots=True)
class Refill:
    """What :meth:`LeanFrontier.refill` answers. Times are those of the frontier's clock."""

    now: float
    until: float | None
    """What the storage has due until this moment has been queued; None: it was never asked."""
    yours: bool
    """The caller is the one who may ask the storage now."""


@runtime_checkable
class LeanFrontier(Frontier, Protocol):
    """A frontier that keeps only what is due soon, and is refilled from the storage."""

    @property
    def keep_within(self) -> float:
        """Seconds. Entries that are due later are kept as known URLs only; sources are always kept."""

    def refill(self, owner: str, *, ttl: float, until: float | None = None) -> Refill:
        """Ask for the right to refill, or keep it, for ``ttl`` seconds: one worker has it at a time.

        With ``until`` the one who has it says that the storage's pages are queued as far as that, and
        gives it back.
        """

    def remember(self, fetched: Mapping[bytes, float | None]) -> None:
        """Record URLs as done and never due again, with the time of their last fetch, by fingerprint.

        What is known already stays as it is.
        """

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that it is refilled from: the first that it was told.

        ``instead``: from now on it is this one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCopy:
    """An entry with all that is noted beside it. What was leased is pending."""

    entry: Entry
    state: Literal["pending", "held", "done", "aside"]
    """``held`` is pending, after a delay."""
    at: float | None = None
    """When the delay ends, when it is due again (None: never), when it was set aside."""
    last_fetched: float | None = None
    attempts: int = 0
    lost: int = 0


class FrontierTransfer(Protocol):
    """What a frontier offers beside :class:`newsbot.frontier.base.Frontier`."""

    def at_work(self) -> list[str]:
        """Who holds leases that have not run out. Looking changes nothing, unlike handing out."""

    def copy_hosts(self) -> Iterator[HostCopy]:
        """All hosts."""

    def copy_entries(self) -> Iterator[EntryCopy]:
        """All entries that are kept whole; the storage's pages tell the others."""

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Keep entries that are not known yet."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Who holds leases. Times are POSIX seconds of the frontier's clock."""

    owner: str
    leases: int
    deadline: float
    """When the first of the leases ends, unless the heartbeat comes before."""


@dataclass(frozen=True, slots=True)
class Watch:
    """One look."""

    now: float
    overdue_since: float | None
    """The due time of what has waited longest past it; None: nothing that was planned is late.

    What was queued to be fetched at once has no due time, and is not looked at.
    """
    workers: list[Worker]
    """By name."""

    @property
    def lag(self) -> float:
        """Seconds by which the planned work is late."""
        return 0.0 if self.overdue_since is None else max(0.0, self.now - self.overdue_since)


@runtime_checkable
class Watched(Protocol):
    """See the module's text."""

    def watch(self) -> Watch:
        """Look at workers and lag."""
