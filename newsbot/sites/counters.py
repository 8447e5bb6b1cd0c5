"""Stores the counters, the last article and the last error of each site across crawls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.sites.statistics import site_counters
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord


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

    def write(
        self,
        storage: Storage,
        stats: Mapping[str, Any],
        now: float,
        is_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Add the growth of the counters to the storage, except for removed sites (``is_out``).

        ``stats`` are the stats of the crawl, ``now`` is in POSIX seconds. Raises
        :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        # Each successful write is recorded immediately, and separately for sites and hours. If a later write
        # fails, the next call therefore does not count the same growth twice.
        # The stats may grow while the storage is called.
        stats = dict(stats)
        for domain, counters in site_counters(stats, self._written).items():
            if is_out(domain):
                continue
            cause, at = error = self.last_error.get(domain, (None, None))
            last_article = self.last_article.get(domain)
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
            for what in counters:
                name = f"newsbot/site/{domain}/{what}"
                self._written[name] = stats[name]
        grown = {
            domain: counters
            for domain, counters in site_counters(stats, self._in_hours).items()
            if not is_out(domain)
        }
        if grown:
            storage.activity.add(now, grown)
            for domain, counters in grown.items():
                for what in counters:
                    name = f"newsbot/site/{domain}/{what}"
                    self._in_hours[name] = stats[name]
