"""Figures that outlast a crawl: the counters of each site, its last article and error, and the crawls.

The input of the counters is the dict with Scrapy's stats, with keys of the form
``newsbot/site/<domain>/<what>``. A stat that is not a number counts as 0, so that a wrong stat cannot stop a
crawl.

Crawls are notes: when each worker began, until when it counts as alive, and how it ended. A worker without
due pages holds no lease. So the leases do not show whether a crawl is running.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

from newsbot.items import Bounded, batched
from newsbot.storage.base import SiteRecord, Storage
from newsbot.storage.notes import Notes


def site_counters(
    stats: Mapping[str, Any], since: Mapping[str, Any] | None = None
) -> dict[str, dict[str, float]]:
    """Return the growth of each stat ``newsbot/site/<domain>/<what>``.

    The growth is counted from ``since``, an earlier copy of the stats. If ``since`` is None, it is counted
    from 0. The result maps each domain to a dict from ``<what>`` to the growth, for
    :meth:`newsbot.storage.base.Sites.add`. Sites without growth are left out.
    """
    before = since or {}
    grown: dict[str, dict[str, float]] = defaultdict(dict)
    for key, value in stats.items():
        parts = key.split("/", 3)
        if len(parts) == 4 and parts[:2] == ["newsbot", "site"]:
            growth = number(value) - number(before.get(key))
            if growth:
                grown[parts[2]][parts[3]] = growth
    return dict(grown)


def number(value: Any) -> int:
    """Return the value of a stat as a whole number, or 0 if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return 0
    return int(min(max(value, -(2.0**62)), 2.0**62))  # within the range of integers in SQLite and BSON


MAX_SITES = 5000
"""Maximum number of sites with their own counters in the stats of a crawl. They take 20 MB."""
AT_ONCE = 100
"""Maximum number of sites whose counters are written together."""
OTHERS = "(other sites)"
"""Name in the stats for the sum of all other sites."""


@dataclass(slots=True)
class SiteCounters:
    """Collects the counters of sites in memory. :meth:`write` adds the changes to the storage."""

    last_article: dict[str, float] = field(default_factory=dict)
    """Domain -> time of the last stored article, POSIX seconds."""
    last_error: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Domain -> cause and time of the last error."""
    _written: dict[str, Any] = field(default_factory=dict)
    """The values of the stats that were already added to the stored counters of sites."""
    _in_hours: dict[str, Any] = field(default_factory=dict)
    """The values of the stats that were already added to the stored hourly counters of sites."""
    _active: Bounded[str, None] = field(default_factory=lambda: Bounded(MAX_SITES))
    """The domains with counters in the stats. The domain whose counters grew last is at the end."""

    def write(
        self,
        storage: Storage,
        stats: dict[str, Any],
        now: float,
        is_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Add the growth of the counters to the storage, except for removed sites (``is_out``).

        ``stats`` are the stats of the crawl. ``now`` is in POSIX seconds. Afterwards, the stats have at most
        :data:`MAX_SITES` sites. The sites whose counters have not grown for the longest time are added up.
        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        # Each successful write is recorded immediately, and separately for sites and hours. So if a later
        # write fails, the next call does not count the same growth twice.
        seen = dict(stats)  # the stats may grow while the storage is called
        records = [
            self._record_of(domain, counters)
            for domain, counters in site_counters(seen, self._written).items()
        ]
        for some in batched(records, AT_ONCE):
            storage.sites.add([record for record in some if not is_out(record.source)])
            for record in some:
                domain, error = record.source, (record.last_error, record.last_error_at)
                if self.last_article.get(domain) == record.last_article:
                    self.last_article.pop(domain, None)
                if self.last_error.get(domain) == error:
                    self.last_error.pop(domain, None)
                self._record(self._written, seen, domain, record.counters)
        grown = site_counters(seen, self._in_hours)
        if kept := {domain: counters for domain, counters in grown.items() if not is_out(domain)}:
            storage.activity.add(now, kept)
        for domain, counters in grown.items():
            self._record(self._in_hours, seen, domain, counters)
            self._active.add(domain)
        self._add_up(stats)

    def _record_of(self, domain: str, counters: dict[str, float]) -> SiteRecord:
        cause, at = self.last_error.get(domain) or (None, None)
        return SiteRecord(
            source=domain,
            counters=counters,
            last_article=self.last_article.get(domain),
            last_error=cause,
            last_error_at=at,
        )

    def _record(self, home: dict[str, Any], stats: dict[str, Any], domain: str, names: Any) -> None:
        home.update((name, stats[name]) for what in names if (name := f"newsbot/site/{domain}/{what}"))

    def _add_up(self, stats: dict[str, Any]) -> None:
        """Add the stats of sites that are not in ``_active`` to :data:`OTHERS`, and delete them.

        Only stats whose values are already stored are moved.
        """
        for name in list(stats):
            if stats[name] != self._in_hours.get(name, 0):
                continue  # not a counter of a site, or it has grown since it was stored
            match name.split("/", 3):
                case ["newsbot", "site", domain, what] if domain != OTHERS and domain not in self._active:
                    rest = f"newsbot/site/{OTHERS}/{what}"
                    for home in (stats, self._written, self._in_hours):
                        home[rest] = home.get(rest, 0) + home.pop(name, 0)


# --- runs
KIND = "run"
"""The kind of the notes. The key is the name of the worker (:mod:`newsbot.frontier.base`)."""
MAX_KEPT = 20
"""Maximum number of ended crawls whose notes are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The crawl of one worker. Times are POSIX seconds."""

    owner: str
    mode: str
    """``once`` or ``continuous``."""
    began: float
    until: float
    """Time at which the worker counts as dead, unless it has renewed the note or ended its crawl."""
    fetched: int = 0
    """Number of responses of sites so far."""
    ended: float | None = None
    reason: str = ""
    """The finish reason of Scrapy."""
    fault: str = ""
    """Why no host could be reached, in one line."""


def note_run(notes: Notes, run: Run) -> None:
    """Store the state of a crawl. Raises :class:`newsbot.errors.DataError`."""
    notes.save(KIND, run.owner, asdict(run))


def begin_run(notes: Notes, run: Run) -> None:
    """Store the start of a crawl, and delete the notes of the oldest crawls that are not running.

    Raises :class:`newsbot.errors.DataError`.
    """
    over = sorted((one for one in runs(notes) if one.until <= run.began), key=lambda one: -one.began)
    for one in over[MAX_KEPT - 1 :]:
        notes.forget(KIND, one.owner)
    note_run(notes, run)


def end_run(notes: Notes, run: Run, now: float, reason: str, fault: str) -> None:
    """Store the end of a crawl at ``now``. Raises :class:`newsbot.errors.DataError`."""
    note_run(notes, replace(run, ended=now, until=now, reason=reason, fault=fault))


def runs(notes: Notes) -> list[Run]:
    """Return the crawls that are known, the latest first. Raises :class:`newsbot.errors.DataError`."""
    found = [run for note in notes.all(KIND).values() if (run := _run_from(note)) is not None]
    return sorted(found, key=lambda one: (-one.began, one.owner))


def _run_from(note: Mapping[str, Any]) -> Run | None:
    try:
        run = Run(**note)
        return replace(run, began=float(run.began), until=float(run.until))
    except (TypeError, ValueError):  # damaged, or of another version
        return None
