"""Reading one answer: which kind it turned out to be, and what it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from lxml.html import HtmlElement
from scrapy.http import Response
from w3lib.encoding import http_content_type_encoding

from newsbot.causes import cause_of_status
from newsbot.clock import utc
from newsbot.crawlstate import CrawlState
from newsbot.discovery.autodiscovery import find_sections, find_sources
from newsbot.discovery.errors import FeedError, SitemapError
from newsbot.discovery.feeds import parse_feed
from newsbot.discovery.sections import find_links
from newsbot.discovery.sitemaps import parse_sitemap
from newsbot.errors import NotAnArticle
from newsbot.extraction import parse_html, read_page
from newsbot.intake import follows
from newsbot.items import Article, Kind, Link, Where
from newsbot.visit import Found, Visit


def read_response(state: CrawlState, response: Response, visit: Visit) -> Iterator[Found | Article]:
    """Yield what the answer gives; what it says of the page goes into ``visit``."""
    state.count(f"fetched/{visit.kind}")
    domain = visit.rule.domain
    state.count_site(domain, "fetched")
    visit.note(state.clock(), "fetched", status=response.status, bytes=len(response.body))
    if response.status == 304:
        _unchanged(state, visit)
        return
    if response.status >= 300:
        visit.outcome.error = cause_of_status(response.status)
        state.count_error(domain, visit.outcome.error)
        if not visit.kind.is_source:
            state.count_site(domain, "pages")
        return
    digest = hashlib.blake2b(response.body, digest_size=16).hexdigest()
    visit.page["content_hash"] = digest
    if visit.kind.is_source and visit.record is not None and visit.record.content_hash == digest:
        visit.outcome.changed = False
        _unchanged(state, visit)
        return
    visit.outcome.changed = visit.record is None or visit.record.content_hash != digest
    readers = {Kind.FEED: _read_feed, Kind.SITEMAP: _read_sitemap, Kind.SECTION: _read_section}
    reader = readers.get(visit.kind, _read_article)
    yield from reader(state, response, visit)


def _unchanged(state: CrawlState, visit: Visit) -> None:
    state.count("unchanged")
    state.count_site(visit.rule.domain, "unchanged")


def _zone(visit: Visit) -> tzinfo:
    return ZoneInfo(visit.rule.timezone) if visit.rule.timezone else UTC


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def _fault(state: CrawlState, visit: Visit, cause: str, text: str = "") -> None:
    visit.outcome.error = cause
    visit.note(state.clock(), "unreadable", cause=cause, text=text[:200])
    state.count_error(visit.rule.domain, cause)


# --- sources
def _read_feed(state: CrawlState, response: Response, visit: Visit) -> Iterator[Found | Article]:
    try:
        with state.timed("feed"):
            feed = parse_feed(response.body, response.url, _content_type(response), zone=_zone(visit))
    except FeedError as error:
        _fault(state, visit, f"feed_{error.reason}", str(error))
        return
    visit.page["links_count"] = len(feed.links)
    if feed.problems:
        state.count("feeds/problems", len(feed.problems))
        visit.note(state.clock(), "feed_problems", problems=feed.problems[:5])
    yield Found(links=tuple(feed.links), referrer=response.url, depth=visit.lease.entry.depth + 1)


def _read_sitemap(state: CrawlState, response: Response, visit: Visit) -> Iterator[Found | Article]:
    try:
        with state.timed("sitemap"):
            sitemap = parse_sitemap(response.body, response.url, zone=_zone(visit))
    except SitemapError as error:
        _fault(state, visit, f"sitemap_{error.reason}", str(error))
        return
    visit.page["links_count"] = len(sitemap.links) + len(sitemap.children)
    depth = visit.lease.entry.depth
    yield Found(links=tuple(sitemap.links), referrer=response.url, depth=depth + 1)
    if depth < visit.rule.max_depth:
        children = tuple(
            Link(url=child.url, where=Where.SITEMAP, kind=Kind.SITEMAP, modified_at=child.lastmod)
            for child in sitemap.children
        )
        yield Found(links=children, referrer=response.url, depth=depth + 1)


# --- pages
def _parse(state: CrawlState, response: Response, visit: Visit) -> HtmlElement | None:
    charset = http_content_type_encoding(_content_type(response))
    try:
        with state.timed("parse"):
            return parse_html(response.body, charset)
    except NotAnArticle as error:
        _fault(state, visit, error.reason)
        return None


def _links(state: CrawlState, tree: HtmlElement, response: Response, visit: Visit) -> Found:
    with state.timed("links"):
        links = tuple(find_links(tree, response.url, zone=_zone(visit)))
    visit.page["links_count"] = len(links)
    return Found(links=links, referrer=response.url, depth=visit.lease.entry.depth + 1)


def _read_section(state: CrawlState, response: Response, visit: Visit) -> Iterator[Found | Article]:
    tree = _parse(state, response, visit)
    if tree is None:
        return
    if visit.data.get("where") in (Where.SEED, Where.ARGUMENT) and not visit.rule.has_sources:
        named = (*find_sources(tree, response.url), *find_sections(tree, response.url, visit.rule))
        yield Found(links=named, referrer=response.url, depth=1)
    yield _links(state, tree, response, visit)


def _read_article(state: CrawlState, response: Response, visit: Visit) -> Iterator[Found | Article]:
    domain = visit.rule.domain
    state.count("pages")
    state.count_site(domain, "pages")
    tree = _parse(state, response, visit)
    if tree is None:
        return
    links = None
    if follows(state, Kind.ARTICLE, visit.rule, visit):
        links = _links(state, tree, response, visit)
    try:
        with state.timed("extract"):
            article = read_page(
                response.body, response.url, rule=visit.rule, hint=visit.hint(), tree=tree, now=state.now()
            )
    except NotAnArticle as error:
        visit.outcome.is_article = False
        visit.note(state.clock(), "not_an_article", reason=error.reason)
        state.count(f"not_article/{error.reason}")
    else:
        visit.outcome.is_article = True
        visit.page["canonical_url"] = article.canonical_url
        state.count("pages/articles")
        state.count_site(domain, "article_pages")
        article.discovered_at = utc(visit.discovered_at())
        article.fetched_at = state.now()
        yield article
    if links is not None:
        yield links
