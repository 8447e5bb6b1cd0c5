"""Sources (feeds, sitemaps, section fronts) with their polls, and what sites did in total and by the hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from newsbot.items import Kind

DAY: Final = 86400
HOUR: Final = 3600
KEEP_DAYS: Final = 60
"""Days of polls that are kept of a source."""
MAX_POLLS: Final = 5000
"""Polls of a source in a day; more are not kept."""
KEEP_HOURS: Final = 60 * 24
"""Hours that are kept of a site."""
COUNTED: Final = (
    "fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors",
)  # fmt: skip
"""Counters that are kept by the hour; the other counters of a site are only kept as totals."""
ALL: Final = ""
"""Stands for all sites together."""


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """What is known of one source: a feed, sitemap or section front. Times are POSIX seconds."""

    url: str
    source: str
    kind: Kind
    polls: int = 0
    unchanged: int = 0
    """Polls answered by 304 or by the same content."""
    new_links: int = 0
    """Links that were not known before, over all polls."""
    last_poll: float | None = None
    last_new: float | None = None
    next_due: float | None = None
    failures: int = 0
    """Failures in a row."""
    failing_since: float | None = None
    last_error: str | None = None
    rhythm: dict[str, Any] = field(default_factory=dict)
    """What the polling policy has learned; JSON-able (:class:`newsbot.recrawl.index.SquareRootIndex`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    at: int
    """POSIX seconds."""
    new: int
    """Links that were not known before."""
    shown: int
    """Links that the source showed; 0: not known."""
    size: int
    """Bytes of the body."""
    unchanged: bool
    """Answered by 304, or by the same content."""


class Sources(Protocol):
    """Source records by URL, and every poll of the last :data:`KEEP_DAYS` days.

    With the polls a simulation can replay what a site really did.
    """

    def save(self, records: Iterable[SourceRecord]) -> None:
        """Write whole records."""

    def all(self, source: str | None = None) -> list[SourceRecord]:
        """Return all records, or those of one site."""

    def log_poll(self, url: str, poll: Poll) -> None:
        """Keep a poll."""

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """Yield all kept polls, or those of one source, by URL and time."""


def packed_poll(poll: Poll) -> tuple[int, str]:
    """Return the day of a poll (days since 1970, UTC), and the poll within it:
    ``second,new,shown,bytes,unchanged;``."""
    day, second = divmod(poll.at, DAY)
    return day, f"{second},{poll.new},{poll.shown},{poll.size},{int(poll.unchanged)};"


def unpacked_polls(day: int, text: str) -> Iterator[Poll]:
    """Yield the polls of a day in the order of time; what is damaged is left out."""
    found = []
    for one in text.split(";"):
        fields = one.split(",")
        if len(fields) == 5 and all(field.isdecimal() for field in fields):
            second, new, shown, size, unchanged = map(int, fields)
            at = day * DAY + second
            found.append(Poll(at=at, new=new, shown=shown, size=size, unchanged=bool(unchanged)))
    yield from sorted(found, key=lambda poll: poll.at)


@dataclass(slots=True, kw_only=True)
class SiteRecord:
    """Counters of one site (a rule's domain), added up over all crawls."""

    source: str
    counters: dict[str, float] = field(default_factory=dict)
    last_article: float | None = None
    last_error: str | None = None
    last_error_at: float | None = None


class Sites(Protocol):
    """Site records by domain."""

    def add(self, record: SiteRecord) -> None:
        """Add the counters to what is kept of the site; later times win. This alone is not idempotent."""

    def all(self) -> dict[str, SiteRecord]:
        """Return all records by domain."""


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


class Activity(Protocol):
    """What each site did in each hour, and the articles stored last. Overviews and trends are drawn from it.

    Counters of a site are added to its hour and to the same hour of all sites together (:data:`ALL`), so that
    no question has to look at the articles themselves.
    """

    def add(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """Add counters of sites to their hour ``at`` (POSIX seconds); names not in COUNTED are left out.

        This is not idempotent.
        """

    def hours(self, since: float, source: str = ALL) -> list[Hour]:
        """Return the hours from ``since`` on (POSIX seconds) of a site, or of all together, by hour.

        Hours in which nothing happened are missing.
        """

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """Return the new articles of each site by the day (days since 1970, UTC), from ``since`` on (POSIX
        seconds)."""

    def watched_since(self) -> dict[str, float]:
        """Return when each site was first crawled, as far as hours are kept, in POSIX seconds."""

    def arrivals(self, limit: int, source: str | None = None) -> list[Arrival]:
        """Return the articles fetched last, the newest first, without those that have later versions."""


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
