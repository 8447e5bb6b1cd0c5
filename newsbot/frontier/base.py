"""The interface of the frontier, which decides which URL is fetched next, by which worker, and when.

An *entry* is a URL in the frontier. A worker *leases* an entry: it gets the exclusive right to process the
entry until a deadline. The worker's heartbeat moves the deadlines of its leases forward. A lease is *lost* if
its deadline passes, because the worker died or hung. Every entry is in exactly one state:

``pending``    waits to be leased (not before its ``due`` time, and not during a delay after a failure)
``leased``     one worker processes it until the lease's deadline
``done``       was processed; becomes pending again at its next due time, if it has one
``aside``      failed or lost its lease too often; kept with its history, never leased

A *turn* of a host is a time at which one request may be sent to the host. Turns of a host are at least one
delay apart.

A page can kill the worker that fetches it (it takes all memory, or triggers a fault in a C library). The
worker then loses all its leases, including those of harmless pages. An entry whose lease was lost is
therefore a *suspect* until a worker processes it without dying. A worker gets only one suspect at a time. If
a suspect is harmless, a worker processes it soon, and it is an ordinary entry again. The suspect with the
fewest lost leases is leased first. If workers keep dying, each of them had a different suspect. After three
more lost leases, a suspect waits until a worker has nothing else to do. This worker then processes the
suspect alone. If that lease is lost as well, the entry is set aside.

A backend object is used by one thread; several processes may share the same data. All times are POSIX
seconds of the backend's own clock. Backend failures are raised as :class:`newsbot.errors.DataError`.

An owner of leases is a worker process. Its name is ``host:pid:start``, so that dead owners on this machine
can be found.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, Protocol, TypedDict, runtime_checkable

from newsbot.errors import DataError
from newsbot.items import Kind, Medium, PageRecord

ALONE: Final = 4
"""A suspect is tried alone after this number of its leases were lost in a row.

When the first lease was lost, the worker had other entries too. When the next three leases were lost, the
entry was the only suspect of its worker.
"""
MAX_LOST: Final = ALONE + 1
"""An entry is set aside after this number of its leases were lost in a row."""
ASIDE: Final = "aside"
"""Key in the data of an entry that was set aside; its value is the reason."""


class EntryData(TypedDict, total=False):
    """Data stored with an entry, as JSON. All entries of a crawl have the first five fields."""

    source: str
    """The domain of the rule that the entry belongs to."""
    referrer: str | None
    where: str
    """The place where the link was found: the value of a :class:`newsbot.items.Where`."""
    discovered_at: float
    """POSIX seconds."""
    why: str
    """The reason why the entry was queued, see :func:`newsbot.items.read_reason`."""
    given_by: str
    """The domain of the site that has the link (:class:`newsbot.items.GivenBy`). ``title``, ``published_at``
    and ``authors`` count only for this site."""
    title: str
    published_at: str
    authors: list[str]
    """Author names as written in the feed."""
    media: list[Medium]
    """The pictures, audio and video that the feed names (:attr:`newsbot.items.Article.media`)."""
    force: bool
    """True if a person requested the URL."""
    again: bool
    """True if the entry was queued from the stored record of a known page."""
    ruled: bool
    """True for a source that was found through a rule."""
    tried: list[str]
    """Spellings of the URL that were tried before and failed."""
    aside: str
    """The reason why the entry was set aside, as text for people (:data:`ASIDE`)."""


def entry_json(data: Mapping[str, Any]) -> str:
    """Return the data of an entry as JSON that can be encoded in UTF-8, as both backends store it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, e.g. in the title of a feed item
        return json.dumps(data, separators=(",", ":"))
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A URL to be queued."""

    url: str
    """Absolute URL as the site wrote it. The crawler fetches this URL."""
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
    """The entry was known. It will now be leased sooner, or it has new data (see :meth:`Frontier.add`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to process an entry until ``deadline``. ``token`` proves that the lease is valid."""

    entry: Entry
    owner: str
    token: str
    deadline: float
    attempts: int
    """Number of failed attempts since the last success: calls of :meth:`Frontier.nack`, and lost leases."""
    lost: int = 0
    """Number of leases of the entry that were lost in a row, because the worker died or hung.

    If it is above 0, the entry is a suspect. From :data:`ALONE` on it is leased alone.
    """
    last_fetched: float | None = None
    """Time of the last :meth:`Frontier.ack` of the entry; None if it was never acknowledged."""
    turn: float = 0.0
    """The time of the host's turn that came with the lease, in POSIX seconds of the frontier's clock."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The result of :meth:`Frontier.resume`."""

    kept: int
    """Number of the given leases that the owner still has or has got again."""
    emptied: bool = False
    """True if the server restarted without its data. The frontier is then empty."""
    replaced: bool = False
    """True if another server process has the data: after a restart, or because a replica took over.

    The last writes may be lost.
    """


FETCH_STEP = 60.0
"""Resolution of the last fetch of a known URL, in seconds. A frontier may round the time up to this step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the frontier knows about a URL. The storage has more data."""

    state: str
    """One of the states in the module docstring."""
    last_fetched: float | None
    """POSIX seconds; up to :data:`FETCH_STEP` later than the true time. None if it was never fetched."""
    next_due: float | None
    """POSIX seconds; None if the URL will not be fetched again, or if it is leased or set aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The pending work, as reported by :meth:`Frontier.outlook`."""

    next_at: float | None
    """Time at which the next entry can be leased. A past time means now. None: no entry is pending."""
    pending: int
    """Number of entries that are pending and due at or before the horizon."""
    leased: int
    """Number of leases of all owners. As for ``pending``, only accepted hosts and due entries count."""
    host: str | None = None
    """Host of the entry that can be leased next; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCopy:
    """The politeness settings and next turn of a host. Times are POSIX seconds."""

    host: str
    delay: float
    concurrency: int
    next_turn: float
    ready: int = 0
    """Number of entries that wait for a turn of the host."""
    visited: bool = True
    """False if the host never had a turn."""


class Frontier(Protocol):
    """Interface of all frontiers. The module docstring describes states and guarantees."""

    @property
    def place(self) -> str:
        """The place of the data, as text for messages: ``data file``, or the product name of the server."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False, respell: bool = False) -> list[Added]:
        """Queue new entries. Return one result for each entry, in order. Idempotent.

        A known entry stays unchanged, with these exceptions:

        * A pending entry gets the higher priority and the earlier due time of the two (``SOONER``).
        * A pending entry without ``published_at`` gets the data of a new entry that has it, except for
          ``discovered_at``. This happens if a page linked the URL first and a feed listed it later.
        * With ``force``, a done or aside entry becomes pending at the new entry's ``due`` time, with the new
          url and data (``SOONER``).
        * With ``respell``, a pending entry that was never fetched also gets the url, host, kind and data of
          the new entry (``SOONER``).

        A leased entry is never changed.
        """

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done although they were not fetched, because they are known under another URL.

        The entries are due again at ``next_due`` (POSIX seconds; None: never). Leased entries and entries
        that were fetched before keep their state.
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

        Leases past their deadline are reclaimed first: their entries are pending again. A host gives at most
        one entry per turn, and each lease moves the host's next turn by its delay. A host never has more
        leases than its concurrency. Hosts (of one queue) are served in the order of their turns;
        the first turn of a new host is the time when it was added. Within a host, the entry
        with the highest priority is leased first. Among entries of equal priority, the entry that was due
        first is leased first. An owner never holds more than one suspect (an entry whose last lease was
        lost). A suspect is leased before the other entries of its host.

        Hosts that ``accept`` refuses are skipped. There may be many of them if only some sites are crawled.
        ``alone`` means that the worker has no other entry now. If there is nothing else to lease, the owner
        then gets one suspect whose leases were lost :data:`ALONE` times. The worker must not process any
        other entry at the same time.
        """

    def ack(self, lease: Lease, *, next_due: float | None, fetched: bool = True) -> bool:
        """Mark the entry as done, after its result was stored. It is due again at ``next_due`` (None: never).

        Pass ``fetched=False`` if the page was not requested; the time of its last fetch then stays the same.
        Returns False and changes nothing if the caller no longer holds the lease. A :class:`LeanFrontier` may
        forget a ``next_due`` that is far in the future. The caller must therefore store ``next_due`` before
        this call.
        """

    def ack_all(self, done: Sequence[tuple[Lease, float | None]], *, fetched: bool = True) -> list[bool]:
        """Do the same as :meth:`ack` for several leases, pairs (lease, next_due).

        All leases of one queue end in one transaction.
        """

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed: the entry is pending again after ``delay`` seconds, or set aside.

        Returns False and changes nothing if the caller no longer holds the lease. Pass ``counted=False`` if
        the entry did not cause the failure; the attempt is then not counted.
        """

    def release(self, owner: str, *, lost: bool = False) -> int:
        """End all leases of ``owner``: their entries are pending again. Return the number of these leases.

        Pass ``lost=True`` if the owner died; the leases then count as lost. Otherwise no attempt is counted.
        """

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``. ``leases`` are all leases that the owner holds.

        This is the worker's heartbeat. Call it also before any other method when the frontier responds again
        after an outage. If the owner still holds a lease of ``leases``, its deadline becomes ``ttl`` seconds
        from now. If a lease was reclaimed in the meantime, or if the frontier has lost it, the owner gets it
        again, unless another worker holds the entry. The lease then does not count as lost, because no worker
        died.

        Other leases of the owner are returned to the queue. Either the frontier has lost the end of such a
        lease, or the response of :meth:`lease` did not reach the owner.
        """

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay between turns (seconds) and its maximum number of leases.

        The new delay counts from the last turn. If the host rests (:meth:`back_off`) for longer, the rest is
        kept. With ``at_least`` a known host can become slower but not faster, because another worker may have
        set a stricter limit.
        """

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest: its next turn is at least ``seconds`` from now. A rest is never shortened."""

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued. Return the seconds until then.

        ``missed`` is a past turn (POSIX seconds) that the caller reserved and did not use. If no later turn
        was reserved, the caller may send its request now, unless the host rests.

        The call is atomic: no other caller gets the same turn, and the following turn is one delay later.
        Requests made outside the queue thus share the pace of the crawl. Leases and entries are not changed.
        """

    def return_turn(self, host: str, turn: float) -> None:
        """Make the turn of a lease (:attr:`Lease.turn`) available again, because it needed no request.

        The host's next turn is then now, unless the host rests (:meth:`back_off`) or a later turn was
        reserved.
        """

    # --- looking
    def known(self, fingerprints: Sequence[bytes], hosts: Sequence[str] = ()) -> dict[bytes, Known]:
        """Return what is known about these URLs, by fingerprint. Unknown URLs are left out.

        ``hosts`` are the hosts of the URLs. If they are given, only the queues of these hosts are asked.
        """

    def entry(self, fingerprint: bytes, host: str = "") -> Entry | None:
        """Return the entry with this fingerprint, for diagnosis; None if it is unknown.

        If its host is given, only the queue of this host is asked.

        A backend may also return None for an entry that is done and never due again. The storage has the
        history of such a URL.
        """

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of the host with this key; None for an unknown host."""

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return what is due at or before ``horizon`` and when the next entry can be leased.

        With ``accept``, only the hosts that it accepts are considered. A suspect that must wait, because the
        worker holds another suspect, is treated as if it could be leased.
        """

    def counts(self) -> dict[str, int]:
        """Return the number of entries in each state: keys pending, leased, done, aside, hosts."""

    def watch(self) -> Watch:
        """Return the present workers, and how late the work is."""

    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired. Expired leases are not reclaimed."""

    def close(self) -> None:
        """Close the backend. Leases are not returned: call :meth:`release` first."""


def known_of(frontier: Frontier, urls: Iterable[Entry] | Iterable[PageRecord]) -> dict[bytes, Known]:
    """Return what is known about these URLs, by fingerprint. Unknown URLs are left out."""
    pairs = [(one.fingerprint, one.host) for one in urls]
    return frontier.known([key for key, _ in pairs], [host for _, host in pairs]) if pairs else {}


@dataclass(frozen=True, slots=True)
class RefillTurn:
    """The result of :meth:`LeanFrontier.refill`. Times are those of the frontier's clock."""

    now: float
    until: float | None
    """All stored pages that are due until this time were queued (POSIX seconds). None before the first
    refill."""
    yours: bool
    """True if the caller holds the refill lock, so that it may read due pages from the storage now."""
    since: float | None = None
    """If the server may have lost its last writes: pages that were added since this time must be compared."""
    at: bytes = b""
    """All pages up to this fingerprint were queued, in a read of all pages that is not finished."""


@runtime_checkable
class LeanFrontier(Frontier, Protocol):
    """A frontier that keeps only entries that are due soon. It is refilled from the storage."""

    @property
    def keep_within(self) -> float:
        """Number of seconds for which the frontier looks ahead.

        If a done entry is due later than this, the frontier keeps only its URL. Sources are always kept in
        full.
        """

    def is_volatile(self) -> bool:
        """Return True if the server keeps the queue only in memory, so that a restart can lose it."""

    def refill(
        self,
        owner: str,
        *,
        ttl: float,
        until: float | None = None,
        reading: bool = False,
        at: bytes = b"",
    ) -> RefillTurn:
        """Acquire or renew the refill lock for ``ttl`` seconds. Only one worker holds it at a time.

        The holder passes ``until`` after it has queued all stored pages that are due until this time. This
        releases the lock. With ``reading``, the lock is only renewed. If the caller does not hold the lock
        any more, it must read the pages again. The holder loses the lock if the server process changes,
        because the queue may have lost pages that were read before. ``at`` is stored as
        :attr:`RefillTurn.at`.
        """

    def remember(self, fetched: Mapping[bytes, float | None], hosts: Sequence[str]) -> None:
        """Record URLs as done and never due again.

        ``fetched`` maps the fingerprint of each URL to the time of its last fetch (None: never fetched), and
        ``hosts`` are the hosts of these URLs. URLs that are already known stay unchanged.
        """

    def divide(self, queues: int) -> bool:
        """Divide the hosts among ``queues`` queues. Return False if the number cannot be changed now.

        Other workers may run. Their calls raise :class:`newsbot.errors.DataUnavailable` in the meantime.
        """

    def known_to_move(self) -> bytes | None:
        """Return the fingerprint up to which all stored pages were passed to :meth:`move_known`.

        None means that the caller has nothing to move now: usually, or because another worker does it.
        """

    def move_known(self, pages: Mapping[bytes, str], *, last: bool) -> None:
        """Move known URLs to the queues that their hosts have now, after the number of queues has changed.

        ``pages`` maps fingerprints of stored pages to hosts, in the order of the fingerprints. ``last`` means
        that the storage has no more pages.
        """

    def serves(self, storage: str, *, instead: bool = False) -> str:
        """Return the identity of the storage that this frontier is refilled from.

        The first call sets it to ``storage``. Later calls do not change it unless ``instead`` is True.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCopy:
    """An entry with its state and counters. A leased entry is copied as pending."""

    entry: Entry
    state: Literal["pending", "held", "done", "aside"]
    """``held`` means pending after a delay."""
    at: float | None = None
    """A time in POSIX seconds: the end of the delay of a ``held`` entry, the next due time of a ``done``
    entry (None: never), or the time at which an ``aside`` entry was set aside. None for a ``pending``
    entry."""
    last_fetched: float | None = None
    attempts: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that holds leases. Times are POSIX seconds of the frontier's clock."""

    owner: str
    leases: int
    deadline: float
    """The time at which the first of its leases expires, unless a heartbeat extends it."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The workers of a frontier, and how late its work is, at one moment."""

    now: float
    overdue_since: float | None
    """The earliest due time of the entries that are late; None if no entry is late.

    Entries that were queued for an immediate fetch have no due time and are not considered.
    """
    workers: list[Worker]
    """Sorted by name."""

    @property
    def lag(self) -> float:
        """Seconds by which the most overdue entry is late; 0 if none is late."""
        return 0.0 if self.overdue_since is None else max(0.0, self.now - self.overdue_since)


# --- owners
_PID = re.compile(r"[1-9][0-9]{0,8}")
_ours: set[str] = set()
"""Owner names that this process created."""


def owner_name(started: float) -> str:
    """Return a name under which this process can own leases. ``started`` is in POSIX seconds."""
    name = f"{socket.gethostname()}:{os.getpid()}:{started:.6f}"
    _ours.add(name)
    return name


def dead_owners(owners: Iterable[str]) -> list[str]:
    """Return the owners whose process ran on this machine and has ended.

    If another program has the pid now, the owner seems to be alive. Its leases then end at their deadline. If
    an owner has the pid of this process, but this process did not create its name, the owner was an earlier
    process. This happens in containers, where pids are often the same after a restart.
    """
    here = socket.gethostname()
    dead = []
    for owner in owners:
        # "host:pid:start" is split from the right, because a host name may contain colons.
        host, _, rest = owner.rpartition(":")[0].rpartition(":")
        if owner not in _ours and host == here and _PID.fullmatch(rest) and not _alive(int(rest)):
            dead.append(owner)
    return dead


def _alive(pid: int) -> bool:
    """Return True if another process has the pid."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)  # signal 0 only checks that the process exists
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def check_idle(frontier: Frontier) -> None:
    """Raise :class:`DataError` if a crawl uses this frontier.

    Workers that are certainly dead are ignored.
    """
    owners = frontier.at_work()
    working = set(owners) - set(dead_owners(owners))
    if working:
        raise DataError(
            f"a crawl is still using the data ({', '.join(sorted(working))}); stop it first. If it "
            "was killed on another machine, wait a few minutes until its leases have expired"
        )
