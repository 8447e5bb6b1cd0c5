"""Chooses the files of sitemap indexes: which files are read, in which order, and when they are read again.

An index may name a hundred thousand files (https://www.sitemaps.org/protocol.html). A file is read if its
``lastmod`` is new enough and newer than our last visit. The newest files come first. Files without a date
come after the files whose names suggest a news sitemap. They are taken from both ends of the list in turn,
because the newest file may be at either end.

The files of a site get only a share of its requests: :data:`AT_ONCE` at the beginning, then :data:`SHARE`.
Except for the freshest files, their priority is below the priority of articles. The remaining files are read
after later visits of the index.

The interval of a file grows while the file does not change or lists only old pages. The file is due again
when the index states a newer date for it. The freshest files are an exception: news sitemaps and files that
have changed once are read at least as often as other sources.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from operator import itemgetter

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import Due, Found, Visit
from newsbot.items import EventKind, Kind, Link, PageRecord, Where, batched
from newsbot.pages.discovery.sitemaps import MAX_URLS, Child, is_news_file
from newsbot.ranking.judging import PATIENT_PRIORITY
from newsbot.recrawl.planning import LONGEST_SOURCE_REST
from newsbot.recrawl.policy import DAY
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

AT_ONCE = 100
"""Number of files that a crawl may queue per site, independently of the number of pages that it fetches
there."""
SHARE = 0.25
"""Number of further files that a crawl may queue for each page fetched from the site."""
FRESH = 2 * DAY
"""A file comes before articles if it changed within this number of seconds."""
UNDATED = 10
"""Number of files without a date that come before articles, from both ends of the list."""
CHECKS = 3
"""Number of visits without a change after which a newer date of a file does not count as a change."""
LONGEST_REST = 30 * DAY
"""The longest interval of a file in seconds."""
_OLD_BY = 0.1
"""The interval of a file that lists only old pages, as a share of the age of its newest page."""
_CHUNK = 500
"""Number of files that are chosen in one step. It takes about 20 ms."""


PAUSE = Found(links=(), referrer="", depth=0)
"""Yielded after each :data:`_CHUNK` files, so that the spider can let other work run. It is no result."""


@dataclass(slots=True)
class _Choice:
    urgent: list[Child] = field(default_factory=list)
    """New files that come before articles."""
    patient: list[Child] = field(default_factory=list)
    """The other new files. They come after articles."""
    newer: list[Child] = field(default_factory=list)
    """Known files whose date is newer than their last fetch."""
    doubtful: list[Child] = field(default_factory=list)
    """Known files with a newer date, although no visit so far has found a change.

    Some sites give all files a new date each day.
    """
    old: int = 0
    """Number of files that are too old for this crawl."""
    left: int = 0
    """Number of files that are left for later visits of the index."""


class SitemapIndexes:
    """Chooses the files of sitemap indexes and their intervals.

    It counts the queued files in the source registry (:mod:`newsbot.crawl.source_state`).
    """

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._scope, self._sources = crawl.context, crawl.scope, crawl.sources

    def files(self, children: Sequence[Child], url: str, visit: Visit) -> Iterator[Found]:
        """Yield the files of the index at ``url`` that are read now.

        ``children`` are all files of the index. The number of files that are left for later is recorded in
        the visit. :data:`PAUSE` is yielded too.
        """
        choice = yield from self._choose(children, visit)
        room = self._room(visit.rule.domain)
        depth = visit.lease.entry.depth + 1
        for chosen in (choice.newer, choice.urgent, choice.doubtful, choice.patient):
            patient = chosen is choice.doubtful or chosen is choice.patient
            if chosen is choice.doubtful and self._scope.arguments.since is None:
                room //= 2  # leave room for the fresh files of other indexes
            taken = chosen[: max(0, room)]
            room -= len(taken)
            choice.left += len(chosen) - len(taken)
            queued = self._sources.sitemap_files.get(visit.rule.domain, 0)
            self._sources.sitemap_files[visit.rule.domain] = queued + len(taken)
            if taken:
                # Known files need ``force``, because the frontier does not change entries that are done.
                yield Found(
                    links=tuple(_link(child) for child in taken),
                    referrer=url,
                    depth=depth,
                    force=chosen is choice.newer or chosen is choice.doubtful,
                    patient=patient,
                )
        self._tell(visit, choice, len(children))

    def rest(self, visit: Visit, newest: datetime | None = None) -> None:
        """Set the next visit of a file of an index.

        The interval of an unchanged file is doubled. The interval of a file that lists only old pages is a
        share of the age of its newest page. ``newest`` is the latest date in the file, or None if the file
        was not read or has no dates.
        """
        if not visit.of_index:
            return
        now, before = self._context.clock(), visit.record
        if visit.outcome.not_modified or visit.reading.changed is False:
            last = LONGEST_SOURCE_REST / 2  # doubled below to the longest interval of other sources
            if before is not None and before.next_due is not None and before.last_fetched is not None:
                last = before.next_due - before.last_fetched
            rest = max(LONGEST_SOURCE_REST, 2 * last)
        else:
            rest = 0.0 if newest is None else (now - newest.timestamp()) * _OLD_BY
        # A shorter interval is left to the recrawl policy. ``next_due`` overrides what the policy plans.
        if rest >= LONGEST_SOURCE_REST:
            visit.due = Due(now + min(rest, LONGEST_SOURCE_REST if _is_live(visit) else LONGEST_REST))

    def _choose(self, children: Sequence[Child], visit: Visit) -> Generator[Found, None, _Choice]:
        choice, unread = _Choice(), _Unread()
        since = self._scope.since_of_sitemaps()
        for number, part in enumerate(batched(children, _CHUNK)):
            if number:
                yield PAUSE
            wanted = [
                child for child in part if since is None or child.lastmod is None or child.lastmod >= since
            ]
            choice.old += len(part) - len(wanted)
            # Known files without a newer date are left out. They become due by their own interval.
            for child, page in self._looks(wanted, visit):
                if page is None or page.last_fetched is None:
                    unread.add(child)
                elif child.lastmod is not None and child.lastmod.timestamp() > page.last_fetched:
                    never_changed = page.checks >= CHECKS and not page.changes
                    if not self._may_look_again(page.last_fetched, visit):
                        choice.left += 1
                    elif never_changed:
                        choice.doubtful.append(child)
                    else:
                        choice.newer.append(child)
        unread.sort(choice, self._context.clock())
        return choice

    def _looks(self, children: Sequence[Child], visit: Visit) -> Iterator[tuple[Child, PageRecord | None]]:
        """Yield the files that do not wait in the queue, each with its page record.

        The record is None if the file is unknown.
        """
        keys = [fingerprint(canonicalize(child.url, visit.rule.drop_query)) for child in children]
        pages = self._context.storage.pages.get(keys)
        for child, key in zip(children, keys, strict=True):
            page = pages.get(key)
            if page is None or page.last_fetched is not None:
                yield child, page

    def _may_look_again(self, seen: float, visit: Visit) -> bool:
        """Return True if a changed file may be read again.

        ``seen`` is the time of the file's last fetch (POSIX seconds). Without this limit, two indexes that
        name each other with new dates would be read in an endless loop.
        """
        return self._context.clock() - seen >= visit.rule.interval.get(Kind.SITEMAP, 0.0)

    def _room(self, domain: str) -> int:
        """Return how many more files of a site may be queued."""
        if self._scope.arguments.since is not None:
            return MAX_URLS  # a person asked for older articles
        fetched = int(self._context.stats.get_value(f"newsbot/site/{domain}/fetched", 0))
        return AT_ONCE + int(SHARE * fetched) - self._sources.sitemap_files.get(domain, 0)

    def _tell(self, visit: Visit, choice: _Choice, number: int) -> None:
        self._context.count("sitemaps/old", choice.old)
        self._context.count("sitemaps/left", choice.left)
        if not choice.left:
            return
        # The next visit must read the remaining files, so the index must not count as unchanged then.
        visit.reads_again = True
        visit.note(
            self._context.clock(), EventKind.SITEMAPS_LEFT, left=choice.left, old=choice.old, of=number
        )
        logger.info(
            "sitemap index domain=%s url=%s files=%d old=%d left=%d for later visits",
            visit.rule.domain,
            visit.lease.entry.url,
            number,
            choice.old,
            choice.left,
        )


def _is_live(visit: Visit) -> bool:
    """Return True for a file to which new articles are added. Such a file is read as often as other sources.

    Many indexes have no dates, so only a short interval makes these files due again.
    """
    entry, before = visit.lease.entry, visit.record
    changed = before is not None and before.changes > 0
    return entry.priority > PATIENT_PRIORITY and (changed or is_news_file(entry.url))


@dataclass(slots=True)
class _Unread:
    """The files that were never read."""

    dated: list[tuple[float, Child]] = field(default_factory=list)
    news: list[Child] = field(default_factory=list)
    rest: list[Child] = field(default_factory=list)

    def add(self, child: Child) -> None:
        if child.lastmod is not None:
            self.dated.append((child.lastmod.timestamp(), child))
        else:
            (self.news if is_news_file(child.url) else self.rest).append(child)

    def sort(self, choice: _Choice, now: float) -> None:
        self.dated.sort(key=itemgetter(0), reverse=True)
        dated = [child for _, child in self.dated]
        fresh = sum(now - time <= FRESH for time, _ in self.dated)
        rest = _from_both_ends(self.rest)
        # Undated files may be archives of many years, so only a few of them are urgent.
        choice.urgent = [*dated[:fresh], *self.news[:UNDATED], *rest[:UNDATED]]
        choice.patient = [*dated[fresh:], *self.news[UNDATED:], *rest[UNDATED:]]


def _link(child: Child) -> Link:
    return Link(url=child.url, where=Where.SITEMAP, kind=Kind.SITEMAP, modified_at=child.lastmod)


def _from_both_ends(children: Sequence[Child]) -> list[Child]:
    half = (len(children) + 1) // 2
    pairs = zip_longest(children[:half], reversed(children[half:]))
    return [one for one in chain.from_iterable(pairs) if one is not None]
