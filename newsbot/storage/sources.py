"""Interfaces for sources (feeds, sitemaps, section fronts), their polls, and the counters of sites."""

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
"""Number of days for which the polls of a source are kept."""
MAX_POLLS: Final = 5000
"""Maximum number of polls of a source that are kept per day."""
KEEP_HOURS: Final = 60 * 24
"""Number of hours for which the hourly counters of a site are kept."""
COUNTED: Final = (
    "fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors",
)  # fmt: skip
"""Counters that are kept by the hour. The other counters of a site are kept as totals only."""
ALL: Final = ""
"""The source name for all sites together."""


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """The state of one source: a feed, sitemap or section front. Times are POSIX seconds."""

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
    """State of the polling policy, JSON-able (:class:`newsbot.recrawl.index.SquareRootIndex`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    at: int
    """POSIX seconds."""
    new: int
    """Links that were not known before."""
    shown: int
    """Number of links in the source; 0 if unknown."""
    size: int
    """Bytes of the body."""
    unchanged: bool
    """Answered by 304, or by the same content."""


class Sources(Protocol):
    """Source records by URL, and all polls of the last :data:`KEEP_DAYS` days.

    Simulations replay the real behaviour of a site from the polls.
    """

    def save(self, records: Iterable[SourceRecord]) -> None:
        """Write whole records."""

    def all(self, source: str | None = None) -> list[SourceRecord]:
        """Return all records, or those of one site."""

    def log_poll(self, url: str, poll: Poll) -> None:
        """Store a poll."""

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """Yield all stored polls, or those of one source, sorted by URL and time."""


def packed_poll(poll: Poll) -> tuple[int, str]:
    """Return the day of a poll (days since 1970, UTC) and its text ``second,new,shown,bytes,unchanged;``."""
    day, second = divmod(poll.at, DAY)
    return day, f"{second},{poll.new},{poll.shown},{poll.size},{int(poll.unchanged)};"


def unpacked_polls(day: int, text: str) -> Iterator[Poll]:
    """Yield the polls of a day in order of time. Damaged entries are skipped."""
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
    """Counters of one site (a rule's domain), summed over all crawls."""

    source: str
    counters: dict[str, float] = field(default_factory=dict)
    last_article: float | None = None
    last_error: str | None = None
    last_error_at: float | None = None


class Sites(Protocol):
    """Site records by domain."""

    def add(self, record: SiteRecord) -> None:
        """Add the counters to those of the site. The later times are kept. Not idempotent."""

    def all(self) -> dict[str, SiteRecord]:
        """Return all records by domain."""


@dataclass(frozen=True, slots=True)
class Hour:
    """The counters of one hour for a site, or for all sites (``source`` is :data:`ALL`)."""

    source: str
    hour: int
    """Hours since 1970, UTC."""
    counts: Mapping[str, int]
    """Counter name (see :data:`COUNTED`) -> value. Zero counters may be missing."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The publication and fetch times of an article."""

    source: str
    published_at: datetime | None
    precise: bool
    """True if the publication time is known at least to the minute."""
    fetched_at: datetime | None


class Activity(Protocol):
    """Hourly counters of each site, and the latest articles, for overviews and trends.

    Counters of a site are added to its own hour and to that of all sites together (:data:`ALL`). Queries
    therefore never have to read the articles.
    """

    def add(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """Add counters of sites to the hour of ``at`` (POSIX seconds). Names not in COUNTED are ignored.

        Not idempotent.
        """

    def hours(self, since: float, source: str = ALL) -> list[Hour]:
        """Return the hours of a site since ``since`` (POSIX seconds), in order of time.

        Hours without activity are left out.
        """

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """Return the number of new articles since ``since`` (POSIX seconds): site -> day -> number.

        Days are counted from 1970 (UTC).
        """

    def watched_since(self) -> dict[str, float]:
        """Return the first stored hour of each site, in POSIX seconds."""

    def arrivals(self, limit: int, source: str | None = None) -> list[Arrival]:
        """Return the articles fetched last, newest first. Articles with several versions are left out."""


def counted(sites: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Return the hourly counters of each site with a nonzero counter, and of all sites together."""
    found: dict[str, dict[str, int]] = {}
    total: Counter[str] = Counter()
    for source, counters in sites.items():
        grown = {name: int(counters[name]) for name in COUNTED if counters.get(name)}
        if grown and source != ALL:
            found[source] = grown
            total.update(grown)
    return found | {ALL: dict(total)} if found else {}
