"""Stores the counters, the last article and the last error of each site across crawls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from newsbot.items import Bounded
from newsbot.sites.statistics import site_counters
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord

MAX_SITES = 5000
"""Maximum number of sites with their own counters in the stats of a crawl. They take 20 MB."""
OTHERS = "(other sites)"
"""Name under which the stats have the sum of the other sites."""


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
    """The domains with counters in the stats. The domain that grew last is at the end."""

    def write(
        self,
        storage: Storage,
        stats: dict[str, Any],
        now: float,
        is_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Add the growth of the counters to the storage, except for removed sites (``is_out``).

        ``stats`` are the stats of the crawl, ``now`` is in POSIX seconds. Afterwards, the stats have at most
        :data:`MAX_SITES` sites: those that did not grow for longest are added up. Raises
        :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        # Each successful write is recorded immediately, and separately for sites and hours. If a later write
        # fails, the next call therefore does not count the same growth twice.
        seen = dict(stats)  # the stats may grow while the storage is called
        for domain, counters in site_counters(seen, self._written).items():
            last_article, error = self.last_article.get(domain), self.last_error.get(domain)
            if not is_out(domain):
                cause, at = error or (None, None)
                storage.sites.add(
                    SiteRecord(
                        source=domain,
                        counters=counters,
                        last_article=last_article,
                        last_error=cause,
                        last_error_at=at,
                    )
                )
            if self.last_article.get(domain) == last_article:
                self.last_article.pop(domain, None)
            if self.last_error.get(domain) == error:
                self.last_error.pop(domain, None)
            self._record(self._written, seen, domain, counters)
        grown = site_counters(seen, self._in_hours)
        if kept := {domain: counters for domain, counters in grown.items() if not is_out(domain)}:
            storage.activity.add(now, kept)
        for domain, counters in grown.items():
            self._record(self._in_hours, seen, domain, counters)
            self._active.add(domain)
        self._add_up(stats)

    def _record(self, home: dict[str, Any], stats: dict[str, Any], domain: str, names: Any) -> None:
        home.update((name, stats[name]) for what in names if (name := f"newsbot/site/{domain}/{what}"))

    def _add_up(self, stats: dict[str, Any]) -> None:
        """Move the stats of the other sites to :data:`OTHERS`. They are stored already."""
        for name in list(stats):
            if stats[name] != self._in_hours.get(name, 0):
                continue  # not a counter of a site, or it has grown since it was stored
            match name.split("/", 3):
                case ["newsbot", "site", domain, what] if domain != OTHERS and domain not in self._active:
                    rest = f"newsbot/site/{OTHERS}/{what}"
                    for home in (stats, self._written, self._in_hours):
                        home[rest] = home.get(rest, 0) + home.pop(name, 0)
