"""Reads one response: determines its kind and yields its links or its article."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from lxml.html import HtmlElement
from scrapy.http import HtmlResponse, Response

from newsbot.clock import iso, utc
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of_status
from newsbot.crawl.visit import RENDERED, Found, Visit
from newsbot.errors import NotAnArticle
from newsbot.items import Article, Details, EventKind, Kind, Link, Reason, Where
from newsbot.middlewares import content_type_of, tree_of
from newsbot.pages.discovery import reader as source_readers
from newsbot.pages.discovery.autodiscovery import find_sections, find_sources, hubs_in
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import Feed, SourceError
from newsbot.pages.discovery.list_pages import MAX_LINKS, PageLinks, split_pages, stated_next
from newsbot.pages.discovery.sitemaps import Sitemap
from newsbot.pages.extraction import Reading, SiteMemory, first_page, made_by_scripts, next_page, read
from newsbot.pages.extraction.addresses import adds_parameters
from newsbot.pages.extraction.parsing import MAX_MARKUP
from newsbot.pages.extraction.verdict import Evidence, Standing, Witnesses
from newsbot.pages.rights import PageRights, page_rights, price_of
from newsbot.pages.rules.rule import classify
from newsbot.pages.rules.shape import is_front_page
from newsbot.sites.rights import headers_of
from newsbot.spiders.sources import SitemapIndexes
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

Parsed = asyncio.Future[Any]
"""The finished parse of a response: a feed, a sitemap, an :class:`HtmlPage`, or the error of the parser."""
_Work = Callable[[], Any]
"""Parses a response."""

FEEDS_OF_SECTION = 3
"""Maximum number of feeds that are queued from a section that no rule names. They may be feeds of the section
or of the whole site."""


class Reader:
    """Reads the responses of one crawl."""

    def __init__(
        self,
        crawl: Crawl,
        *,
        obeys_noindex: bool,
        documents: Sequence[source_readers.DocumentReader] = (),
    ) -> None:
        """``obeys_noindex``: True if articles that say ``noindex`` are not stored.

        ``documents`` read files that are articles but not HTML.
        """
        self._readers, self._documents = crawl.context.readers, documents
        self._extensions, self._one_document = source_readers.extensions_of(documents), asyncio.Lock()
        self._context, self._scope, self._judge = crawl.context, crawl.scope, crawl.judge
        self._lines, self._rights, self._hubs = crawl.sites.shared_lines, crawl.sites.rights, crawl.hubs
        self._families = crawl.families
        self._indexes, self._obeys_noindex = SitemapIndexes(crawl), obeys_noindex
        self._one_page = asyncio.Lock()

    async def parse_ahead(self, response: Response, visit: Visit) -> Parsed | None:
        """Read a page, or parse a large feed or sitemap, in a thread, so that the event loop is free.

        Return the result for :meth:`read`. Pages of all sizes are read in the thread, because a small page
        may be slow too: a page of 16 kB took 170 ms. Pages are read one at a time, because the tree of a page
        may take 50 MB. :meth:`read` itself parses small feeds and sitemaps.
        """
        visit.read(began=self._context.clock())
        if response.status >= 300:
            return None
        # A person may ask for any address. Its content says whether it is a feed or a sitemap.
        asked = visit.data.get("where") == Where.ARGUMENT and not visit.kind.is_listing
        received = response.url, content_type_of(response), response.body
        if asked:
            found = source_readers.recognising(self._readers, *received)
            if found is not None:
                visit.become(found.kind)
        if visit.kind.is_source and not visit.check.anew and _hash_before(visit) == _digest(response):
            return None  # read() will find that the source is unchanged
        if not visit.kind.is_listing:
            page: Response | Parsed = response
            if source_readers.recognising(self._documents, *received):
                page = await self._convert(response)
            if not isinstance(page, Response):
                return page
            # group_calls waits for the articles of these pages before it calls the storage.
            self._context.together.reading += 1
            try:
                # This is outside of the lock, because it may call the storage. Other pages can be read
                # meanwhile.
                work = await self._context.calls.run(self._work, page, visit)
                async with self._one_page:
                    return await _in_thread(work)
            finally:
                self._context.together.reading -= 1
        if len(response.body) > LARGE or response.body.startswith(_GZIP):
            return await _in_thread(self._work(response, visit))
        return None

    async def _convert(self, response: Response) -> Response | Parsed:
        """Return a document as a page. If it cannot be read, return the reason.

        Other pages are read meanwhile, because a document may take half a minute.
        """
        async with self._one_document:
            try:
                with self._context.timed("document"):
                    return await asyncio.to_thread(page_of, self._documents, response)
            except NotAnArticle as error:
                return await _in_thread(partial(HtmlPage, refusal=error.reason))

    def _work(self, response: Response, visit: Visit) -> _Work:
        """Return a function that parses the response.

        The function can run in a thread, because it changes no shared state.
        """
        if visit.kind.is_listing:
            readers, kind = source_readers.readers_like(self._readers, visit.kind), content_type_of(response)
            dates = SiteDates(_zone(visit), self._families.of(visit.rule.domain).witnesses.month_first)
            return partial(source_readers.read_source, readers, response.body, response.url, kind, dates)
        known = Known(self._rights.signals(response.url), self._extensions)
        where, is_section = visit.data.get("where"), visit.kind is Kind.SECTION
        # A person may ask for any page. Only its address says that it is a list.
        asked = is_section and where == Where.ARGUMENT
        if not (is_section and where == Where.SEED) and not (asked and is_front_page(response.url)):
            known = replace(
                known,
                now=self._context.now(),
                memory=self._lines.of(visit.rule.domain),
                standing=Standing.ALONE if asked else self._families.standing(visit),
                witnesses=self._families.of(visit.rule.domain).witnesses,
                follows=self._judge.follows(Kind.ARTICLE, visit.rule, visit),
                obeys_noindex=self._obeys_noindex,
            )
        return partial(read_html, response, visit, known)

    def read(
        self, response: Response, visit: Visit, parsed: Parsed | None = None
    ) -> Iterator[Found | Article]:
        """Yield the links and the article of a response. ``parsed`` is the result of :meth:`parse_ahead`.

        The reading of the visit gets the other data of the page.
        """
        self._context.count(f"fetched/{visit.kind}")
        domain = visit.rule.domain
        self._context.count_site(domain, "fetched")
        details: Details = {"status": response.status, "bytes": len(response.body)}
        host = urlsplit(response.url)
        if host.scheme == "https" and self._context.ignores_certificate(host.hostname or ""):
            details["tls"] = "not verified"
        if RENDERED in response.flags:
            details["rendered"] = True
        if response.status == 402:
            details["price"] = price_of(headers_of(response))
            visit.read(price=details["price"])
        visit.note(self._context.clock(), EventKind.FETCHED, **details)
        if response.status == 304:
            self._unchanged(visit)
            return
        if response.status >= 300:
            cause = cause_of_status(response.status)
            visit.read(error=cause)
            if not visit.guessed:  # a missing feed at a guessed address is not an error of the site
                self._context.count_error(domain, cause)
            if not visit.kind.is_source:
                self._context.count_site(domain, "pages")
            return
        digest = _digest(response)
        visit.read(content_hash=digest, changed=_hash_before(visit) != digest)
        if visit.kind.is_source and not visit.check.anew and not visit.reading.changed:
            self._unchanged(visit)
            return
        if visit.kind.is_source and self._scope.arguments.narrows:
            # This crawl leaves out some of the links. The next crawl must read the source in full even if it
            # is unchanged, so the validators are cleared.
            visit.reads_again = True
        readers = {
            Kind.SECTION: self._read_section,
            Kind.FEED: self._read_source,
            Kind.SITEMAP: self._read_source,
        }
        work = self._work(response, visit) if parsed is None else parsed.result
        yield from readers.get(visit.kind.like, self._read_article)(response, visit, work)

    def _unchanged(self, visit: Visit) -> None:
        self._context.count("unchanged")
        self._context.count_site(visit.rule.domain, "unchanged")
        self._indexes.rest(visit)

    def _fault(self, visit: Visit, cause: str, text: str = "") -> None:
        """Record that the response cannot be parsed. ``cause`` is the token of the reason."""
        visit.read(error=cause)
        visit.note(self._context.clock(), EventKind.UNREADABLE, cause=cause, text=text[:200])
        if not visit.guessed:
            self._context.count_error(visit.rule.domain, cause)

    def _read_source(self, response: Response, visit: Visit, parse: _Work) -> Iterator[Found]:
        form = visit.kind.like
        try:
            with self._context.timed(form):
                source: Feed | Sitemap = parse()
        except SourceError as error:
            self._fault(visit, f"{form}_{error.reason}", str(error))
            return
        if isinstance(source, Feed):
            yield from self._read_feed(source, response, visit)
        else:
            yield from self._read_sitemap(source, response, visit)

    def _read_feed(self, feed: Feed, response: Response, visit: Visit) -> Iterator[Found]:
        visit.read(
            links_count=len(feed.links),
            ttl=feed.ttl,
            skip_hours=feed.skip_hours,
            update_period=feed.update_period,
            **self._window(feed.links),
        )
        if feed.problems:
            self._context.count("feeds/problems", len(feed.problems))
            visit.note(self._context.clock(), EventKind.FEED_PROBLEMS, problems=feed.problems[:5])
        hubs = [hub.url for hub in feed.hubs if hub.protocol == "websub"]
        self._hubs.offer(response, visit, hubs, feed.self_url)
        links = tuple(feed.links)
        yield Found(links=links, referrer=response.url, depth=visit.lease.entry.depth + 1, feed=feed)

    def _window(self, links: Sequence[Link]) -> Mapping[str, Any]:
        """Return the number of links in a source, and how far back their dates go, for the recrawl policy.

        A source that shows few links must be polled before new links replace them.
        """
        dates = [link.published_at.timestamp() for link in links if link.published_at is not None]
        now = self._context.clock()
        span = now - min(dates) if len(dates) > 1 and min(dates) < now else None
        return {"shown": len(links), "span": span}

    def _read_sitemap(self, sitemap: Sitemap, response: Response, visit: Visit) -> Iterator[Found]:
        number = len(sitemap.links) + len(sitemap.children)
        visit.read(links_count=number, **self._window(sitemap.links))
        dates = [moment for link in sitemap.links if (moment := link.published_at or link.modified_at)]
        self._indexes.rest(visit, max(dates, default=None))
        depth = visit.lease.entry.depth
        yield Found(links=tuple(sitemap.links), referrer=response.url, depth=depth + 1)
        if depth < visit.rule.max_depth:
            yield from self._indexes.files(sitemap.children, response.url, visit)

    def _read_html(self, visit: Visit, parse: _Work) -> HtmlPage | None:
        """Return the parsed page. If it cannot be parsed, record the reason in the visit and return None."""
        page: HtmlPage = parse()
        for step, seconds in page.seconds.items():
            self._context.spent(step, seconds)
        if page.fault is not None:
            self._fault(visit, page.fault)
            return None
        visit.read(rights=page.rights)
        return page

    def _links(self, page: HtmlPage, response: Response, visit: Visit) -> Found:
        """Return the links of a page. If the page says ``nofollow``, the result has no links."""
        if not page.rights.follow:
            visit.note(self._context.clock(), EventKind.NOFOLLOW)
            self._context.count("links/nofollow_pages")
        else:
            visit.read(links_count=page.links_count)
        if page.links_count >= MAX_LINKS:
            self._context.count("links/cut")
            visit.note(self._context.clock(), EventKind.LINKS_CUT, kept=MAX_LINKS)
            logger.info("links cut domain=%s url=%s kept=%d", visit.rule.domain, response.url, MAX_LINKS)
        return Found(links=page.links, referrer=response.url, depth=visit.lease.entry.depth + 1)

    def _read_section(self, response: Response, visit: Visit, parse: _Work) -> Iterator[Found | Article]:
        page = self._read_html(visit, parse)
        if page is None:
            return
        if visit.data.get("where") == Where.SEED and visit.hops:
            self._tell_move(response, visit)
        if page.named is not None:
            yield page.named
        self._hubs.offer(response, visit, *page.hubs)
        if page.scripts:
            visit.note(self._context.clock(), EventKind.UNREADABLE, cause=Reason.SCRIPTS)
            self._context.count_error(visit.rule.domain, Reason.SCRIPTS)
        if page.article is not None:
            visit.read(next_page=page.next_page)
            yield self.accept(page.article, visit)
        yield self._links(page, response, visit)
        if page.following and page.rights.follow:
            # The link to the next page comes after the other links, because they show whether the next page
            # is worth reading (newsbot.crawl.links.families).
            depth = visit.lease.entry.depth
            yield Found(links=page.following, referrer=visit.lease.entry.url, depth=depth, force=True)
        # The visit is changed after the links are queued, because the page may be a list that is tried.
        if page.article is not None and self._families.standing(visit) is not Standing.NAMED:
            visit.become(Kind.ARTICLE)
            visit.read(evidence=page.evidence)

    def _tell_move(self, response: Response, visit: Visit) -> None:
        """Log that a source that a rule names has moved to another site. The source's links belong to that
        site."""
        there = self._context.rule_for(response.url).domain
        if there != visit.rule.domain:
            visit.note(self._context.clock(), EventKind.MOVED, to=there)
            logger.warning(
                "site moved domain=%s to=%s url=%s: write a rule for %s",
                visit.rule.domain,
                there,
                response.url,
                there,
            )

    def _read_article(self, response: Response, visit: Visit, parse: _Work) -> Iterator[Found | Article]:
        domain = visit.rule.domain
        self._context.count("pages")
        self._context.count_site(domain, "pages")
        page = self._read_html(visit, parse)
        if page is None:
            return
        # If this is a further page of an article, only the link to the first page is yielded. The visit of
        # the first page fetches all pages and joins them.
        if page.first is not None:
            self._no_article(visit, "continuation")
            first = Link(url=page.first, where=Where.REDIRECT, kind=Kind.ARTICLE)
            yield Found(links=(first,), referrer=response.url, depth=visit.lease.entry.depth)
            return
        links = self._links(page, response, visit) if page.follows else None
        article = page.article
        visit.read(evidence=page.evidence, next_page=page.next_page)
        if article is None:
            missing = self._missing(visit, page.evidence)
            self._no_article(visit, page.refusal, scripts=page.scripts, missing=missing)
            if page.named is not None:
                yield page.named  # the page may be a front page although its URL does not look like one
        else:
            self._context.count("pages/articles")
            self._context.count_site(domain, "article_pages")
            yield self.accept(article, visit)
        if links is not None:
            yield links

    def accept(self, article: Article, visit: Visit) -> Article:
        """Complete the article of a page, and note it in the visit."""
        visit.read(
            is_article=True,
            is_teaser=article.partial,
            canonical_url=article.canonical_url,
            title=article.title,
            published_at=article.published_at and iso(article.published_at),
        )
        article.discovered_at = utc(visit.discovered_at())
        article.fetched_at = self._context.now()
        article.rights = dict(visit.reading.rights.signals)
        # Some sites redirect readers without a cookie to the same address with one more parameter.
        asked = visit.lease.entry.url
        if (
            visit.redirected_to
            and canonicalize(asked, visit.rule.drop_query) == article.canonical_url
            and adds_parameters(article.url, asked)
        ):
            article.move_to(asked)
        # This comes after extraction, because a page must not be compared with its own lines.
        self._lines.of(visit.rule.domain).learn(article.url, article.shown.splitlines())
        return article

    def _missing(self, visit: Visit, evidence: Evidence | None) -> Sequence[str]:
        """Return what the page lacks of what the site's articles have."""
        if evidence is None:
            return ()
        witnesses = self._families.of(visit.rule.domain).witnesses
        return witnesses.lacking(evidence) if witnesses.number else evidence.missing

    def _no_article(
        self, visit: Visit, reason: str, *, scripts: bool = False, missing: Sequence[str] = ()
    ) -> None:
        details: Details = {"reason": reason}
        # The same page may be enough after its family has opened, or after the rule has been changed.
        visit.reads_again |= reason == "no_evidence"
        if reason == "no_evidence" and missing:
            details["missing"] = list(missing)
        if scripts:
            details["scripts"] = True
        visit.read(is_article=False, no_article=reason)
        visit.note(self._context.clock(), EventKind.NOT_AN_ARTICLE, **details)
        self._context.count(f"not_article/{reason}")


def _hash_before(visit: Visit) -> str | None:
    return None if visit.record is None else visit.record.content_hash


def _zone(visit: Visit) -> tzinfo:
    return ZoneInfo(visit.rule.timezone) if visit.rule.timezone else UTC


READ_AT_ONCE = 0.1
"""Seconds for which the event loop waits for the thread that reads a page.

Python runs one thread at a time. If the event loop went on at once, the two threads would interrupt each
other all the time, and each call to a server would seem slow. Most pages are read within this time.
"""


_slow: set[threading.Event] = set()
"""The pages that take longer. While the thread reads one of them, the loop does not wait for others."""


async def _in_thread(work: _Work) -> Parsed:
    ended = threading.Event()

    def run() -> Any:
        try:
            return work()
        finally:
            ended.set()

    parsed = asyncio.get_running_loop().run_in_executor(None, run)
    if _slow or not ended.wait(READ_AT_ONCE):
        _slow.add(ended)
    try:
        # wait() does not raise the error of the work. read() raises it when it uses the result.
        await asyncio.wait([parsed])
    finally:
        _slow.discard(ended)
    return parsed


# --- sources
LARGE = 1 << 17
"""Minimum size in bytes of feeds and sitemaps that are parsed in a thread. Parsing this size takes 50 ms."""
_GZIP = b"\x1f\x8b"


def _digest(response: Response) -> str:
    return hashlib.blake2b(response.body, digest_size=16).hexdigest()


# --- pages


@dataclass(frozen=True, slots=True)
class Known:
    """What the crawl knows about a page before the page is read.

    For a section, only the first two fields are set.
    """

    signals: Mapping[str, str]
    """The rights reservations of the page's host."""
    documents: Collection[str] = ()
    """Extensions of the files that are read like pages."""
    now: datetime | None = None
    memory: SiteMemory | None = None
    """Lines that the site's articles have in common."""
    standing: Standing = Standing.ALONE
    """What is known of the page from its address."""
    witnesses: Witnesses | None = None
    """How the articles of the site look."""
    follows: bool = False
    """True if the links of an article page are followed."""
    obeys_noindex: bool = False
    """True if a page that says ``noindex`` is not stored."""


@dataclass(slots=True)
class HtmlPage:
    """The content of a page: links, rights, and the article or the reason why there is none."""

    fault: str | None = None
    """The token of the reason why the page cannot be parsed."""
    rights: PageRights = field(default_factory=PageRights)
    follows: bool = False
    """True if the links of an article page are followed."""
    links: tuple[Link, ...] = ()
    links_count: int = 0
    following: tuple[Link, ...] = ()
    """The links to the next pages of a list."""
    named: Found | None = None
    """The feeds and sections that a home page, a section or a requested page names."""
    hubs: tuple[list[str], str | None] = field(default_factory=lambda: ([], None))
    """The WebSub hubs and the topic that the page names (:mod:`newsbot.crawl.sources`)."""
    first: str | None = None
    """The URL of the article's first page, if this is a further page of an article."""
    article: Article | None = None
    evidence: Evidence | None = None
    """What the page shows of being an article."""
    refusal: str = ""
    """The token of the reason why the page is not an article."""
    scripts: bool = False
    """True if the article, or the links of a list, are missing because scripts of the page write them."""
    next_page: str | None = None
    """The URL of the article's next page."""
    seconds: dict[str, float] = field(default_factory=dict)
    """The duration of each step in seconds."""

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Record the duration of the block in :attr:`seconds`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = time.perf_counter() - began


def read_html(response: Response, visit: Visit, known: Known) -> HtmlPage:
    """Read a page as a section or an article. May run in any thread, because it changes no shared state."""
    page = HtmlPage()
    if visit.kind is not Kind.SECTION and not looks_like_html(response.body, content_type_of(response)):
        page.refusal = "not_html"
        return page
    try:
        with page.timed("parse"):
            tree = tree_of(response)
    except NotAnArticle as error:
        page.fault = error.reason
        return page
    page.rights = page_rights(headers_of(response), tree, known.signals, response.url)
    if visit.kind is Kind.SECTION:
        _read_section(page, tree, response, visit, known)
    else:
        _read_article(page, tree, response, visit, known)
    return page


def _read_section(page: HtmlPage, tree: HtmlElement, response: Response, visit: Visit, known: Known) -> None:
    url = response.url
    where = visit.data.get("where")
    with page.timed("links"):
        links = PageLinks(tree, url, known.documents)
        # If the site's rule names no sources, its home page names feeds and sections, and each section may
        # name its own feed.
        if where in (Where.SEED, Where.ARGUMENT) and not visit.rule.has_sources:
            page.named = _named(tree, links, url, visit)
        elif where == Where.AUTODISCOVERY and not visit.rule.has_sources:
            feeds = find_sources(tree, url)[:FEEDS_OF_SECTION]
            page.named = Found(links=tuple(feeds), referrer=url, depth=visit.lease.entry.depth + 1)
        page.hubs = hubs_in(tree, url)
        found = links.find(zone=_zone(visit)) if page.rights.follow else []
        others, following = split_pages(found, url, stated_next(tree, url))
    page.links, page.following, page.links_count = tuple(others), tuple(following), len(found)
    # Only its address and the text of a link say that the page is a list. Its content decides.
    rule = visit.rule
    by_looks = (not rule.article or bool(rule.learn)) and classify(rule, url).kind is not Kind.SECTION
    if known.now is not None and by_looks:
        reading = _reading(tree, response, visit, known)
        page.article, page.evidence = reading.article, reading.evidence
    if not found and RENDERED not in response.flags:
        page.scripts = made_by_scripts(tree, of_list=True)


def _read_article(page: HtmlPage, tree: HtmlElement, response: Response, visit: Visit, known: Known) -> None:
    url, rule = response.url, visit.rule
    page.first = first_page(tree, url)
    if page.first is not None:
        return
    links = cache(
        partial(PageLinks, tree, url, known.documents)
    )  # computed only if one of the two calls below needs it
    page.follows = known.follows
    if known.follows and page.rights.follow:
        with page.timed("links"):
            page.links = tuple(links().find(zone=_zone(visit)))
        page.links_count = len(page.links)
    try:
        with page.timed("extract"):
            if not page.rights.index and known.obeys_noindex:
                raise NotAnArticle("noindex")  # the storage counts as an index, because it can be searched
            reading = _reading(tree, response, visit, known)
            page.article, page.evidence = reading.article, reading.evidence
            if page.article is None:
                raise NotAnArticle(reading.refusal)
            # With DOWNLOAD_FAIL_ON_DATALOSS=0, Scrapy passes on bodies that were cut on the way.
            page.article.partial |= "dataloss" in response.flags
    except NotAnArticle as error:
        page.refusal = error.reason
        page.scripts = RENDERED not in response.flags and made_by_scripts(tree)
        if visit.data.get("where") == Where.ARGUMENT and not rule.has_sources:
            page.named = _named(tree, links(), url, visit)
    else:
        # Most pages have no rel=next. A search in the bytes is faster than a search in the tree.
        if _NEXT.search(response.body, 0, MAX_MARKUP) or any(
            "next_page" in one.extract for one in rule.layouts
        ):
            page.next_page = next_page(tree, url, rule, known.now)


def _reading(tree: HtmlElement, response: Response, visit: Visit, known: Known) -> Reading:
    return read(
        response.body,
        response.url,
        rule=visit.rule,
        hint=visit.hint(),
        tree=tree,
        now=known.now,
        memory=known.memory,
        standing=known.standing,
        witnesses=known.witnesses,
    )


def _named(tree: HtmlElement, links: PageLinks, url: str, visit: Visit) -> Found:
    """Return the feeds and sections that a home page or a requested page names."""
    named = (*find_sources(tree, url), *find_sections(links, url, visit.rule))
    return Found(links=named, referrer=url, depth=1)


def page_of(documents: Sequence[source_readers.DocumentReader], response: Response) -> Response:
    """Return a document as a page, and every other response as it is.

    May run in any thread. Raises :class:`newsbot.errors.NotAnArticle` if the document cannot be read.
    """
    kind = content_type_of(response)
    reader = source_readers.recognising(documents, response.url, kind, response.body)
    if reader is None:
        return response
    page = reader.to_html(response.url, kind, response.body)
    headers = response.headers.copy()
    headers["Content-Type"] = source_readers.HTML
    return HtmlResponse(
        response.url,
        response.status,
        headers,
        page.html,
        flags=response.flags if page.complete else [*response.flags, "dataloss"],
        request=response.request,
        encoding="utf-8",
    )


def looks_like_html(body: bytes, content_type: str) -> bool:
    """Return False for JSON, feeds, sitemaps and plain text.

    If these were parsed as HTML, their text would look like an article. The content type is used only if the
    first bytes do not decide, because many servers send a wrong type.
    """
    head = body[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if _TAG.search(head):
        return not source_readers.OTHER_ROOT.search(head) or b"<html" in head.lower()
    return not head.startswith((b"{", b"[")) and not content_type.lower().startswith(_NO_HTML)


# Matches rel=next and rel="nofollow next". Up to 40 characters of other words may come before "next".
_NEXT = re.compile(rb"""rel\s{0,3}=\s{0,3}["']?[\w ]{0,40}next""", re.IGNORECASE)
_HEAD = 2048
_TAG = re.compile(rb"<[a-z!?]", re.IGNORECASE)
_NO_HTML = ("application/json", "application/ld+json", "application/feed+json", "text/plain", "text/csv")
