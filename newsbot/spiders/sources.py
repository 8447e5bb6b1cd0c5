"""Reads sources further than their links: the files of sitemap indexes, and the articles in feeds.

**Sitemap indexes.** An index may name a hundred thousand files (https://www.sitemaps.org/protocol.html). A
file is read if its ``lastmod`` is new enough and newer than our last visit. The newest files come first.
Files without a date come after the files whose names suggest a news sitemap. They are taken from both ends of
the list in turn, because the newest file may be at either end.

The files of a site get only a share of its requests: :data:`AT_ONCE` at the beginning, then :data:`SHARE`.
Except for the freshest files, their priority is below the priority of articles. The remaining files are read
after later visits of the index.

The interval of a file grows while the file does not change or lists only old pages. The file is due again
when the index states a newer date for it. The freshest files are an exception: news sitemaps and files that
have changed once are read at least as often as other sources.

**Articles in feeds** stand in for pages that are refused or have only a part of the text. Some feeds have the
full text of their items, while the server refuses the pages (401, 402, 403) or shows only their beginning. If
the hub of the feed has sent the text (:mod:`newsbot.sites.texts`), this text is used. Otherwise the feed is
fetched once more, within the visit of the page. Its texts are kept for the other pages of the feed. A feed
whose pages can be read costs nothing. The page is visited again as planned, and its text replaces that of the
feed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from itertools import chain, zip_longest
from operator import itemgetter

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.links.queue import FEED
from newsbot.crawl.visit import RULE_KEY, Due, Found, Visit
from newsbot.errors import NotAnArticle
from newsbot.items import Article, Bounded, EventKind, GivenBy, Kind, Link, PageRecord, Where, batched
from newsbot.middlewares import content_type_of
from newsbot.pages.discovery.feeds import item_contents
from newsbot.pages.discovery.sitemaps import MAX_URLS, Child, is_news_file
from newsbot.pages.extraction import read_page
from newsbot.pages.rights import page_rights
from newsbot.ranking.judging import PATIENT_PRIORITY
from newsbot.recrawl.planning import DAY, LONGEST_SOURCE_REST
from newsbot.sites.rights import headers_of
from newsbot.sites.texts import pushed_text
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

    It counts the queued files in the source registry (:mod:`newsbot.crawl.sources`).
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


# --- articles in feeds
REFUSALS = (401, 402, 403)
"""Statuses of pages whose text may be in the feed."""
_KEPT = 600.0
"""Number of seconds for which the texts of a feed are used."""
_MOST = 32_000_000
"""Maximum number of characters of the texts that are kept."""
_MAX_FEEDS = 1_000
_Texts = Mapping[bytes, str]
"""The texts of a feed as HTML, by the fingerprint of their page; empty if the feed cannot be read."""


class FeedContent:
    """Makes articles of the full texts in feeds."""

    def __init__(self, crawl: Crawl, engine: ExecutionEngine, *, obeys_noindex: bool) -> None:
        self._context, self._engine, self._obeys_noindex = crawl.context, engine, obeys_noindex
        self._rights = crawl.sites.rights
        self._feeds = Bounded[str, tuple[float, asyncio.Future[_Texts]]](_MAX_FEEDS)
        """Time of the request in monotonic seconds, and the texts, by URL of the feed."""

    async def instead_of(self, response: Response, visit: Visit) -> Article | None:
        """Return the article of a refused page, or None if the site's feed does not have its text.

        The rights that the site and the refusal state hold.
        """
        signals = await self._context.calls.run(self._rights.signals, response.url)
        rights = page_rights(headers_of(response), None, signals, response.url)
        if self._obeys_noindex and not rights.index:
            return None
        article = await self._read(visit)
        if article is not None:
            visit.read(rights=rights)
        return article

    async def completed(self, article: Article, visit: Visit) -> Article:
        """Return ``article``, with the text of the site's feed if this text is longer."""
        whole = await self._read(visit)
        if whole is None or len(whole.text) <= len(article.text):
            return article
        whole.rights, whole.canonical_url = article.rights, article.canonical_url
        whole.fetched_at, whole.discovered_at = article.fetched_at, article.discovered_at
        return whole

    async def _read(self, visit: Visit) -> Article | None:
        feed = visit.data.get("referrer")
        named = visit.data.get("where") == Where.FEED and GivenBy.of(visit.data).counts_for(visit.rule.domain)
        if not feed or not named or self._context.outage.ending():
            return None
        text = await self._context.calls.run(self._pushed, visit)
        if text is None:
            texts = await self._texts_of(feed, visit)
            text = texts.get(visit.lease.entry.fingerprint) or texts.get(_key(visit.url))
        return None if text is None else await asyncio.to_thread(self._article, text, visit)

    def _pushed(self, visit: Visit) -> str | None:
        key = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
        return pushed_text(self._context.notes, key, visit.rule.domain, self._context.clock())

    async def _texts_of(self, feed: str, visit: Visit) -> _Texts:
        at, coming = self._feeds.get(feed, (0.0, None))
        if coming is None or time.monotonic() > at + _KEPT:
            coming = asyncio.ensure_future(self._fetch(feed, visit))
            self._feeds[feed] = time.monotonic(), coming
        # The other pages of the feed wait for the same request.
        texts = await asyncio.shield(coming)
        self._feeds.shrink(_MOST, lambda kept: _length(kept[1]))
        return texts

    async def _fetch(self, feed: str, visit: Visit) -> _Texts:
        request = Request(feed, callback=NO_CALLBACK, meta={RULE_KEY: visit.rule})
        try:
            response = await self._engine.download_async(request)
            if response.status != 200:
                return {}
            contents = await asyncio.to_thread(
                item_contents, response.body, response.url, content_type_of(response)
            )
        except Exception:  # noqa: BLE001  (after any failure of the feed, there is no text)
            return {}
        drop = visit.rule.drop_query
        return {fingerprint(canonicalize(url, drop)): text for url, text in contents.items()}

    def _article(self, text: str, visit: Visit) -> Article | None:
        title = escape(visit.data.get("title") or "")
        page = f"<!DOCTYPE html><title>{title}</title><article><h1>{title}</h1>{text}</article>"
        url = visit.url or visit.lease.entry.url
        try:
            article = read_page(
                page.encode(),
                url,
                rule=visit.rule,
                hint=visit.hint(),
                charset="utf-8",
                now=self._context.now(),
                vouched=True,
            )
        except NotAnArticle:
            return None
        article.extraction["text"] = FEED
        return article


def _length(coming: asyncio.Future[_Texts]) -> int:
    return sum(map(len, coming.result().values())) if coming.done() and not coming.cancelled() else 0


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))
