"""Stores the counters, the last article and the last error of each site across crawls.

The input is the dict with Scrapy's stats, with keys of the form ``newsbot/site/<domain>/<what>``. A stat that
is not a number counts as 0, so that a wrong stat cannot stop a crawl.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from newsbot.items import Bounded, batched
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord


def site_counters(
    stats: Mapping[str, Any], since: Mapping[str, Any] | None = None
) -> dict[str, dict[str, float]]:
    """Return the growth of each stat ``newsbot/site/<domain>/<what>``.

    The growth is counted from ``since``, an earlier copy of the stats. If ``since`` is None, it is counted
    from 0. The result maps each domain to a dict from ``<what>`` to the growth, for
    :meth:`newsbot.storage.sources.Sites.add`. Sites without growth are left out.
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
