"""Defines the class of a storage, which has one repository for each kind of data, and their interfaces.

The interfaces for articles are in :mod:`newsbot.storage.articles`, and that for notes in
:mod:`newsbot.storage.notes`. The others are here:

- the crawl database: one record for each URL ever seen, with its history and its referrers
- waiting links: links that are kept until their family is open (:mod:`newsbot.ranking.families`). They have
  no page record and no entry in the frontier. A limit for each family bounds their number: the links that
  were found first are dropped first
- sources (feeds, sitemaps, section pages), their polls, and the counters of sites

These guarantees hold for every repository and both backends:

- Every write is idempotent and atomic, unless its docstring says otherwise.
- Two articles of one source never have the same canonical URL or the same text (``content_hash``), even if
  several workers store them at the same time.
- A stream can be read while others write. Each record is returned once.
- Failures of the backend are raised as subclasses of :class:`newsbot.errors.DataError`.

Only one thread may use a storage at a time. Several processes can share the same data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Protocol

from newsbot.config.apps import load
from newsbot.errors import DataUnavailable
from newsbot.items import Event, Kind, PageRecord
from newsbot.pages.text.words import clean
from newsbot.storage.articles import Articles, Stories, Texts
from newsbot.storage.notes import Notes

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
    """The state of the polling policy as JSON values (:class:`newsbot.recrawl.policies.SquareRootIndex`)."""
    silent: bool = False
    """True if the last poll found no new links although many were expected (:mod:`newsbot.sites.health`)."""


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


# --- pages
MAX_REFERRERS = 20
"""Maximum number of referrers of a page that are stored as URLs. Further referrers are only counted."""
MAX_HISTORY = 30
"""Maximum number of events in the history of a page."""
BEGINNING = "discovered"
"""The name of the event that records where a page was found. This event is always kept, because it affects
how the page is read."""


class Pages(Protocol):
    """Page records by fingerprint."""

    def discover(self, pages: Sequence[PageRecord]) -> None:
        """Record pages that were found through links.

        New pages are written as given (state pending). For known pages, the given referrers are added, and
        the depth is lowered if the given depth is smaller. Nothing else changes. The first MAX_REFERRERS
        distinct referrers are stored. The number of further referrers is estimated, see :class:`Referrers`.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """Return the records of these URLs by fingerprint. Unknown URLs are left out."""

    def save(self, pages: Sequence[PageRecord]) -> None:
        """Write whole records. Known pages keep their ``referrers``, ``referrer_count`` and ``first_seen``.

        New events of ``history`` are added to the stored events, see :func:`merged`.
        """

    def iter(self, *, site: str | None = None, kind: Kind | None = None) -> Iterator[PageRecord]:
        """Stream all records that match all given conditions, in no particular order.

        Pages that are added after the start of the stream are not included.
        """

    def due(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """Stream the records with ``after < next_due <= until`` (POSIX seconds), sorted by ``next_due``.

        A frontier that holds only pages that are due soon reads its next pages from this stream.
        """

    def added(self, since: float) -> Iterator[PageRecord]:
        """Stream the records that were added at ``since`` (POSIX seconds) or later, in this order."""

    def by_key(self, after: bytes = b"") -> Iterator[PageRecord]:
        """Stream all records with fingerprints above ``after``, sorted by fingerprint."""


def merged(kept: list[Event], given: list[Event], most: int = MAX_HISTORY) -> list[Event]:
    """Return the stored events ``kept`` with the events of ``given`` added, sorted by time.

    An event that is stored already is not added again, so the function is idempotent. At most ``most`` events
    are returned: the latest events, and in any case the first event if it is :data:`BEGINNING`.
    """
    events = list(kept)
    for event in given:
        if event not in events:
            events.append(event)
    events.sort(key=lambda event: event.get("at") or 0.0)
    if len(events) > most and events[0].get("event") == BEGINNING:
        # Not events[1 - most:], which would be all events if most is 1.
        return [events[0], *events[len(events) - most + 1 :]]
    return events[-most:]


_BYTES = 128
_BITS = 8 * _BYTES


@dataclass(slots=True)
class Referrers:
    """The pages that link to one page, in bounded space.

    The first :data:`MAX_REFERRERS` referrers are stored as URLs. The number of further referrers is estimated
    with a bitmap of 128 bytes by linear counting (K.-Y. Whang et al., "A linear-time probabilistic counting
    algorithm for database applications", ACM Transactions on Database Systems 15(2), 1990). Adding a referrer
    twice has no effect. The error is about 3 % for up to 2,000 referrers.
    """

    kept: list[str] = field(default_factory=list)
    count: int = 0
    """Number of distinct referrers. It is exact if all referrers are in ``kept``. For more referrers, it is
    an estimate, which is never much above 7,000."""
    bitmap: bytes = b""
    """The bitmap, with a bit for the hash of each referrer that is not in ``kept``; empty if ``kept`` has all
    referrers."""

    def add(self, urls: Iterable[str]) -> bool:
        """Add referrers. Return True if anything changed."""
        changed = False
        for url in urls:
            if url in self.kept:
                continue
            if len(self.kept) < MAX_REFERRERS:
                self.kept.append(url)
                self.count = max(self.count, len(self.kept))
                changed = True
            else:
                changed |= self._mark(url)
        return changed

    def _mark(self, url: str) -> bool:
        bit = bit_of(url)
        bitmap = int.from_bytes(self.bitmap, "big")
        if bitmap >> bit & 1:
            return False
        bitmap |= 1 << bit
        self.bitmap = bitmap.to_bytes(_BYTES, "big")
        # max() keeps a count from another storage that is larger than the estimate
        self.count = max(self.count, MAX_REFERRERS + estimate(bitmap))
        return True


def bit_of(url: str) -> int:
    """Return the index (0 to 1023) of a referrer's bit in the bitmap."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=4).digest(), "big") % _BITS


def estimate(bitmap: int) -> int:
    """Return the estimated number of distinct referrers from the bits that are set in ``bitmap``."""
    clear = max(1, _BITS - bitmap.bit_count())  # without max(), a full bitmap would give an infinite number
    return round(-_BITS * math.log(clear / _BITS))


def referrers_of(page: PageRecord) -> Referrers:
    """Return the referrers of a page record."""
    referrers = Referrers()
    referrers.add(map(clean, page.referrers))
    referrers.count = max(referrers.count, page.referrer_count)
    return referrers


# --- waiting links
@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingLink:
    """A link that waits."""

    fingerprint: bytes
    """The fingerprint of the canonical URL. It identifies the link."""
    source: str
    """The domain of the site."""
    family: str
    at: float
    """Time when the link was found, in POSIX seconds."""
    priority: float
    body: str
    """The rest of the frontier entry, as JSON (:mod:`newsbot.crawl.links.families`)."""


class WaitingLinks(Protocol):
    """The waiting links of all sites."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        """Store links. Known links are not changed.

        Only the latest ``most`` links of each family are kept.
        """

    def counts(self, site: str) -> dict[str, int]:
        """Return the number of links of each family of a site."""

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        """Return at most ``limit`` links of a family, highest priority first."""

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        """Return the links with these fingerprints."""

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        """Delete links. Return the number of deleted links."""

    def forget_site(self, site: str) -> int:
        """Delete the links of a site. Return their number."""


# --- storage
REMOVED_AT_ONCE = 500
"""Maximum number of articles or pages that callers should pass in one call of :class:`Removal`.

The number is large, because each call may have to read the list of texts of each site once.
"""


class Removal(Protocol):
    """Deletes data on request (methods ``addresses`` to ``site``), and old data (``old_versions`` and below).

    Current versions of articles and page records are never deleted as old data. Without its record, a crawl
    would treat an old page as a new page.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs (aliases) of these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts and other URLs. Return the number of deleted articles.

        Their URLs are also removed from ``duplicate_of`` and ``derived_from`` of other articles. If a URL is
        only an alias of an article, the alias is deleted.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records. Return the number of deleted records."""

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls.

        Return the number of deleted records.
        """

    def site(self, site: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return the number of earlier versions of articles that were fetched before this time."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete at most ``limit`` of the versions that :meth:`old_versions` counts.

        Return the number of deleted versions; 0 means that none were left.
        """

    def old_pages(self, before: float) -> int:
        """Return the number of old page records that still have their history or their referrers.

        A record is old if the page is never due again and was last fetched before this time (POSIX seconds).
        If the page was never fetched, the time when it was first seen counts.
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Delete history and referrers of at most ``limit`` of the records that :meth:`old_pages` counts.

        Return the number of changed records; 0 means that none were left. The other fields of the records are
        not changed: URL, state, counters, validators and times.
        """


class Storage:
    """An open storage. Each backend has a subclass that sets the repositories."""

    place: str
    """The name of the backend in messages: ``data file`` or ``MongoDB``."""
    is_local: bool
    """True for the embedded data file."""

    pages: Pages
    articles: Articles
    texts: Texts
    stories: Stories
    sources: Sources
    sites: Sites
    activity: Activity
    notes: Notes
    waiting: WaitingLinks
    removal: Removal
    handle: Any
    """The open file or server, which the repositories of this backend take."""

    def repository(self, classes: Mapping[str, str]) -> Any:
        """Open a repository that is not a part of this class, for example a repository of an app.

        ``classes`` has its class for each backend: :attr:`place` -> import path. The class takes the
        :attr:`handle`. Raises :class:`newsbot.errors.DataUnavailable` if there is none for this backend.
        """
        if self.place not in classes:
            raise DataUnavailable(f"{self.place}: this needs data in: {', '.join(classes)}")
        return load(classes[self.place])(self.handle)

    def interrupt(self) -> None:
        """Interrupt a read in another thread, so that it raises :class:`newsbot.errors.DataError`.

        Does nothing if the backend cannot interrupt a read. The read then ends at the server's time limit.
        """

    def close(self) -> None:
        """Close the backend."""
        raise NotImplementedError


REPOSITORIES = (
    "pages", "articles", "texts", "stories", "sources", "sites", "activity", "notes", "waiting", "removal",
)  # fmt: skip
"""The attributes of :class:`Storage` that are repositories."""
