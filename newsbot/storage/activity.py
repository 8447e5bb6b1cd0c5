"""What each site did in each hour, and the articles stored last: what overviews and trends are drawn from.

Counters of a site are added to its hour and to the same hour of all sites together (:data:`ALL`), so that no
question has to look at the articles themselves; the last :data:`KEEP_HOURS` are kept. Both storages implement
:class:`Activity` beside :class:`newsbot.storage.base.Storage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

HOUR: Final = 3600
KEEP_HOURS: Final = 60 * 24
COUNTED: Final = (
    "fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors",
)  # fmt: skip
"""Counters that are kept by the hour; others of a site are only kept as totals."""
ALL: Final = ""
"""Stands for all sites together."""


@dataclass(frozen=True, slots=True)
class Hour:
    """What came of one hour of a site, or of all (``source`` is :data:`ALL`)."""

    source: str
    hour: int
    """Hours since 1970, UTC."""
    counts: Mapping[str, int]
    """By the names of :data:`COUNTED`; those that are 0 may be missing."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """When an article was published and when it was stored."""

    source: str
    published_at: datetime | None
    precise: bool
    """The publication is known to the minute at least."""
    fetched_at: datetime | None


@runtime_checkable
class Activity(Protocol):
    """See the module's text."""

    def add_activity(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """Add counters of sites to their hour ``at`` (POSIX seconds); names not in COUNTED are left out."""

    def activity(self, since: float, source: str = ALL) -> list[Hour]:
        """The hours from ``since`` on (POSIX seconds) of a site, or of all together, by hour.

        Hours in which nothing happened are missing.
        """

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """New articles of each site by the day (days since 1970, UTC), from ``since`` on (POSIX seconds)."""

    def watched_since(self) -> dict[str, float]:
        """When each site was first crawled, as far as hours are kept, in POSIX seconds."""

    def arrivals(self, limit: int, source: str | None = None) -> list[Arrival]:
        """The articles fetched last, the newest first; without those that have later versions."""


def counted(sites: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Return the counters that are kept by the hour, of each site in which something grew, and of all."""
    found: dict[str, dict[str, int]] = {}
    total: Counter[str] = Counter()
    for source, counters in sites.items():
        grown = {name: int(counters[name]) for name in COUNTED if counters.get(name)}
        if grown and source != ALL:
            found[source] = grown
            total.update(grown)
    return found | {ALL: dict(total)} if found else {}
