"""Interfaces for sources (feeds, sitemaps, section pages), their polls, and the counters of sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from newsbot.items import Kind

DAY: Final = 86400
HOUR: Final = 3600
KEEP_DAYS: Final = 60
"""Number of days for which the polls of a source are stored."""
MAX_POLLS: Final = 5000
"""Maximum number of polls of a source that are stored per day."""
KEEP_HOURS: Final = 60 * 24
"""Number of hours for which the hourly counters of a site are stored."""
COUNTED: Final = (
    "fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors", "polls",
)  # fmt: skip
"""Counters that are stored by hour. The other counters of a site are stored as totals only."""
PAGE: Final = 500
"""Number of sites that are read at a time."""
ALL: Final = ""
"""The name that stands for all sites together in :class:`Activity`."""


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """The state of one source: a feed, sitemap or section page. Times are POSIX seconds."""

    url: str
    source: str
    """The site: the domain of a rule."""
    kind: Kind
    polls: int = 0
    unchanged: int = 0
    """Number of polls whose response was 304 or had the same content as before."""
    new_links: int = 0
    """Number of links in all polls that were not known before."""
    last_poll: float | None = None
    last_new: float | None = None
    """The time of the last poll that found a new link."""
    next_due: float | None = None
    failures: int = 0
    """Number of polls in a row that failed. It is 0 after a success."""
    failing_since: float | None = None
    last_error: str | None = None
    rhythm: dict[str, Any] = field(default_factory=dict)
    """The state of the polling policy as JSON values (:class:`newsbot.recrawl.sources.SquareRootIndex`)."""
    silent: bool = False
    """True if the last poll found no new links although many were expected (:mod:`newsbot.sites.silence`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    at: int
    """The time in POSIX seconds."""
    new: int
    """Number of links that were not known before."""
    shown: int
    """Number of links that the source contained; 0 if unknown."""
    size: int
    """Length of the body in bytes."""
    unchanged: bool
    """True if the response was 304 or had the same content as before."""


class Sources(Protocol):
    """Source records by URL, and all polls of the last :data:`KEEP_DAYS` days.

    The simulator uses the polls to reproduce how often a site publishes. There may be hundreds of thousands
    of sources, so a crawl never reads all records: it counts them with indexes, or reads a few of them.
    """

    def save(self, records: Iterable[SourceRecord]) -> None:
        """Write whole records. A record replaces the stored record with the same URL."""

    def all(self, site: str | None = None) -> list[SourceRecord]:
        """Return all records, or those of one site, sorted by URL."""
        return list(self.iter(site))

    def iter(self, site: str | None = None) -> Iterator[SourceRecord]:
        """Yield the same records as :meth:`all`, without keeping them in memory."""

    def get(self, url: str) -> SourceRecord | None:
        """Return the record with this URL, or None."""

    def best(self, site: str, kind: Kind, limit: int) -> list[SourceRecord]:
        """Return up to ``limit`` records of a site and kind. Those with the fewest failures come first."""

    def sample(self, limit: int, *, failures: int) -> list[SourceRecord]:
        """Return up to ``limit`` random records with fewer than this number of failures."""

    def troubled(self, failures: int) -> list[SourceRecord]:
        """Return all records of the sites that may be in trouble, sorted by URL.

        These are the sites with a silent source, and the sites whose polled sources all have at least this
        number of failures.
        """

    def count(
        self,
        *,
        failures: int | None = None,
        due: float | None = None,
        sites: Collection[str] | None = None,
    ) -> int:
        """Return the number of records with fewer than this number of failures that are due until ``due``.

        ``due`` is in POSIX seconds. Only sources of ``sites`` count. None means no condition.
        """

    def first_due(
        self, *, failures: int | None = None, sites: Collection[str] | None = None
    ) -> SourceRecord | None:
        """Return the record that is due first, or None. The conditions are those of :meth:`count`."""

    def failing(self, limit: int, after: str | None = None) -> list[SourceRecord]:
        """Return up to ``limit`` records whose last poll failed. Those with the most failures come first.

        If ``after`` is given, only records of the sites that follow it are returned, sorted by site.
        """

    def log_poll(self, url: str, poll: Poll) -> None:
        """Store a poll, and delete the polls of this source that are too old."""

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """Yield all stored polls, or those of one source, sorted by URL and time."""


def packed_poll(poll: Poll) -> tuple[int, str]:
    """Return the day of a poll (days since 1970, UTC) and its stored text.

    The text has the form ``second,new,shown,bytes,unchanged;``, where ``second`` is the second of the day.
    """
    day, second = divmod(poll.at, DAY)
    return day, f"{second},{poll.new},{poll.shown},{poll.size},{int(poll.unchanged)};"


def unpacked_polls(day: int, text: str) -> Iterator[Poll]:
    """Yield the polls of a day, sorted by time, from their stored text. Damaged entries are skipped."""
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
    """The counters of one site, added up over all crawls. Times are POSIX seconds."""

    source: str
    """The domain of the site's rule."""
    counters: dict[str, float] = field(default_factory=dict)
    last_article: float | None = None
    """The time at which the last article was stored."""
    last_error: str | None = None
    last_error_at: float | None = None


class Sites(Protocol):
    """Site records by domain."""

    def add(self, records: Sequence[SiteRecord]) -> None:
        """Add the counters of each record to the counters of its site. This is not idempotent.

        A time of a record replaces the stored time if it is later. Either all records are added or none.
        """

    def all(self, names: Collection[str] | None = None) -> dict[str, SiteRecord]:
        """Return all records by domain, or those of these domains."""

    def latest(self, limit: int) -> dict[str, SiteRecord]:
        """Return up to ``limit`` records: those with the latest errors, then those without errors."""

    def names(self, after: str, limit: int) -> list[str]:
        """Return up to ``limit`` domains of sites with a record or a source that follow ``after``, sorted.

        There may be fewer, but none only if no such site follows.
        """

    def count(self, others: Collection[str] = ()) -> int:
        """Return the number of records, and of ``others`` (domains) that have no record."""


def site_names(sites: Sites, after: str = "") -> Iterator[str]:
    """Yield the domains of all sites with a record or a source that follow ``after``, sorted."""
    while some := sites.names(after, PAGE):
        yield from some
        after = some[-1]


@dataclass(frozen=True, slots=True)
class Hour:
    """The counters of one hour for a site, or for all sites (``source`` is :data:`ALL`)."""

    source: str
    hour: int
    """Hours since 1970, UTC."""
    counts: Mapping[str, int]
    """The values of the counters by name (see :data:`COUNTED`). Counters that are 0 may be missing."""


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

    The counters of a site are added to its own hour and to the hour of all sites together (:data:`ALL`), so
    that an overview never has to read all articles.
    """

    def add(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """Add counters of sites to the hour of ``at`` (POSIX seconds). This is not idempotent.

        Counters with names that are not in :data:`COUNTED` are ignored.
        """

    def hours(self, since: float, site: str = ALL) -> list[Hour]:
        """Return the hours of a site from ``since`` (POSIX seconds) on, oldest first.

        Hours without activity are left out.
        """

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """Return the number of new articles from ``since`` (POSIX seconds) on, by site and day.

        Days are numbers of days since 1970 (UTC).
        """

    def watched_since(self) -> dict[str, float]:
        """Return the start of the first stored hour of each site, in POSIX seconds."""

    def arrivals(self, limit: int) -> list[Arrival]:
        """Return the times of the ``limit`` articles that were fetched last.

        The latest fetch comes first. Articles with several versions are left out, because their stored fetch
        time is not the time of the first fetch.
        """


def counted(sites: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Return the hourly counters of each site, and their sums under :data:`ALL`.

    Counters that are 0 are left out. Sites whose counters are all 0 are left out too. If no site remains, the
    result is empty.
    """
    found: dict[str, dict[str, int]] = {}
    total: Counter[str] = Counter()
    for source, counters in sites.items():
        grown = {name: int(counters[name]) for name in COUNTED if counters.get(name)}
        if grown and source != ALL:
            found[source] = grown
            total.update(grown)
    return found | {ALL: dict(total)} if found else {}
