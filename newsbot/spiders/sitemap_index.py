"""Sitemap indexes: which of their files are read, in which order, and when again.

An index may name a hundred thousand files. Read are those whose ``lastmod`` is new enough and newer than our
last look, the newest first; what says no date is tried from both ends of the list, what calls itself news
before it. The files of a site take a share of its requests only (:data:`SHARE`, :data:`AT_ONCE` to begin
with) and, but for the freshest, come behind articles; what is left over comes with the next look at the
index. A file that does not change, or holds old pages only, rests longer and longer; the index brings it back
when it calls it newer. Of the freshest files news sitemaps, and those that have changed once, rest no longer
than other sources.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import Found, Visit
from newsbot.discovery.sitemap_types import MAX_URLS, Child
from newsbot.items import EventKind, Kind, Link, PageRecord, Where
from newsbot.ranking.judging import PATIENT_PRIORITY
from newsbot.recrawl.planning import DAY, LONGEST_SOURCE_REST
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

AT_ONCE = 100
"""Files of the indexes of one site that a crawl queues whatever else it fetches there."""
SHARE = 0.25
"""Further ones, for each page that was fetched of the site."""
FRESH = 2 * DAY
"""Files that changed so lately come before articles."""
UNDATED = 10
"""Files without a date that come before articles: the first and the last of the list."""
CHECKS = 3
"""Looks after which a file that never changed is believed less."""
LONGEST_REST = 30 * DAY
_OLD_BY = 0.1
"""A file whose newest page is so old rests for this part of its age."""
_CHUNK = 1000
_NEWS = re.compile(r"//[^/]+/.*(?:news|latest|recent|today)", re.IGNORECASE)


@dataclass(slots=True)
class _Choice:
    urgent: list[Child] = field(default_factory=list)
    patient: list[Child] = field(default_factory=list)
    newer: list[Child] = field(default_factory=list)
    doubtful: list[Child] = field(default_factory=list)
    """Called newer, but they never had changed when they were looked at again: some sites say so of all."""
    old: int = 0
    left: int = 0


class SitemapIndexes:
    """Chooses files of sitemap indexes, and how long each rests; counts them in ``sources``."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._scope, self._sources = crawl.context, crawl.scope, crawl.sources

    def files(self, children: Sequence[Child], url: str, visit: Visit) -> Iterator[Found]:
        """Yield the files of the index at ``url`` to be read now; note how many are left for later."""
        choice = self._choose(children, visit)
        room = self._room(visit.rule.domain)
        depth = visit.lease.entry.depth + 1
        for chosen in (choice.newer, choice.urgent, choice.doubtful, choice.patient):
            patient = chosen is choice.doubtful or chosen is choice.patient
            if chosen is choice.doubtful and self._scope.arguments.since is None:
                room //= 2  # something stays for the fresh files of other indexes
            taken = chosen[: max(0, room)]
            room -= len(taken)
            choice.left += len(chosen) - len(taken)
            self._sources.sitemap_files[visit.rule.domain] += len(taken)
            if taken:
                yield Found(
                    links=tuple(_link(child) for child in taken),
                    referrer=url,
                    depth=depth,
                    force=chosen is choice.newer or chosen is choice.doubtful,
                    patient=patient,
                )
        self._tell(visit, choice, len(children))

    def rest(self, visit: Visit, newest: datetime | None = None) -> None:
        """Let a file of an index rest: twice as long as before if it is unchanged, by its age if it is old.

        ``newest`` is the latest date in it, if it was read and says any.
        """
        if not visit.of_index:
            return
        now, before = self._context.clock(), visit.record
        if visit.outcome.not_modified or visit.outcome.changed is False:
            last = LONGEST_SOURCE_REST / 2
            if before is not None and before.next_due is not None and before.last_fetched is not None:
                last = before.next_due - before.last_fetched
            rest = max(LONGEST_SOURCE_REST, 2 * last)
        else:
            rest = 0.0 if newest is None else (now - newest.timestamp()) * _OLD_BY
        if rest >= LONGEST_SOURCE_REST:
            visit.page["next_due"] = now + min(rest, LONGEST_SOURCE_REST if _is_live(visit) else LONGEST_REST)

    def _choose(self, children: Sequence[Child], visit: Visit) -> _Choice:
        choice = _Choice()
        since = self._scope.since_of_sitemaps()
        wanted = [
            child for child in children if since is None or child.lastmod is None or child.lastmod >= since
        ]
        choice.old = len(children) - len(wanted)
        unread: list[Child] = []
        for child, page in self._looks(wanted, visit):
            if page is None or page.last_fetched is None:
                unread.append(child)
            elif child.lastmod is not None and child.lastmod.timestamp() > page.last_fetched:
                never_changed = page.checks >= CHECKS and not page.changes
                if not self._may_look_again(page.last_fetched, visit):
                    choice.left += 1
                elif never_changed:
                    choice.doubtful.append(child)
                else:
                    choice.newer.append(child)
        _sort(choice, unread, self._context.clock())
        return choice

    def _looks(self, children: Sequence[Child], visit: Visit) -> Iterator[tuple[Child, PageRecord | None]]:
        """Yield the files that are not queued already, with what is known of them."""
        for start in range(0, len(children), _CHUNK):
            part = children[start : start + _CHUNK]
            keys = [fingerprint(canonicalize(child.url, visit.rule.drop_query)) for child in part]
            pages = self._context.storage.pages.get(keys)
            for child, key in zip(part, keys, strict=True):
                page = pages.get(key)
                if page is None or page.last_fetched is not None:
                    yield child, page

    def _may_look_again(self, seen: float, visit: Visit) -> bool:
        """Return True if a changed file may be read again: two indexes may name each other for ever."""
        return self._context.clock() - seen >= visit.rule.interval.get(Kind.SITEMAP, 0.0)

    def _room(self, domain: str) -> int:
        """Return how many more files of a site may be queued."""
        if self._scope.arguments.since is not None:
            return MAX_URLS  # a person wants the past
        fetched = int(self._context.stats.get_value(f"newsbot/site/{domain}/fetched", 0))
        return AT_ONCE + int(SHARE * fetched) - self._sources.sitemap_files[domain]

    def _tell(self, visit: Visit, choice: _Choice, number: int) -> None:
        self._context.count("sitemaps/old", choice.old)
        self._context.count("sitemaps/left", choice.left)
        if not choice.left:
            return
        # the rest is for the next look: it must not find the index unchanged
        visit.page.update(content_hash=None, etag=None, last_modified=None)
        visit.note(
            self._context.clock(), EventKind.SITEMAPS_LEFT, left=choice.left, old=choice.old, of=number
        )
        logger.info(
            "sitemap index domain=%s url=%s files=%d old=%d left=%d for later looks",
            visit.rule.domain,
            visit.lease.entry.url,
            number,
            choice.old,
            choice.left,
        )


def _is_live(visit: Visit) -> bool:
    """Tell the files into which new articles go: none of them may rest longer than other sources do.

    Many indexes say no dates, so that nothing else would bring them back.
    """
    entry, before = visit.lease.entry, visit.record
    changed = before is not None and before.changes > 0
    return entry.priority > PATIENT_PRIORITY and (changed or _NEWS.search(entry.url) is not None)


def _sort(choice: _Choice, unread: Sequence[Child], now: float) -> None:
    dated = sorted((one for one in unread if one.lastmod is not None), key=_time, reverse=True)
    undated = [one for one in unread if one.lastmod is None]
    news = [one for one in undated if _NEWS.search(one.url)]
    rest = _from_both_ends([one for one in undated if not _NEWS.search(one.url)])
    fresh = [one for one in dated if now - _time(one) <= FRESH]
    choice.urgent = [*fresh, *news[:UNDATED], *rest[:UNDATED]]
    choice.patient = [*dated[len(fresh) :], *news[UNDATED:], *rest[UNDATED:]]


def _link(child: Child) -> Link:
    return Link(url=child.url, where=Where.SITEMAP, kind=Kind.SITEMAP, modified_at=child.lastmod)


def _from_both_ends(children: Sequence[Child]) -> list[Child]:
    half = (len(children) + 1) // 2
    pairs = zip_longest(children[:half], reversed(children[half:]))
    return [one for one in chain.from_iterable(pairs) if one is not None]


def _time(child: Child) -> float:
    return 0.0 if child.lastmod is None else child.lastmod.timestamp()
