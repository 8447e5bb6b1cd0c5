"""Reads one response: finds its kind, and gives its links or its article."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from lxml.html import HtmlElement
from scrapy.http import Response
from w3lib.encoding import http_content_type_encoding

from newsbot.clock import iso, utc
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of_status
from newsbot.crawl.visit import Found, Visit
from newsbot.discovery.autodiscovery import find_sections, find_sources
from newsbot.discovery.feed_types import FeedError
from newsbot.discovery.feeds import parse_feed
from newsbot.discovery.sections import MAX_LINKS, find_links
from newsbot.discovery.sitemap_types import SitemapError
from newsbot.discovery.sitemaps import parse_sitemap
from newsbot.errors import NotAnArticle
from newsbot.extraction import first_page, next_page, parse_html, read_page
from newsbot.items import Article, EventKind, Kind, Link, Where
from newsbot.push.websub import hubs_in
from newsbot.rights import page_rights
from newsbot.sites.rights import headers_of
from newsbot.spiders.sitemap_index import SitemapIndexes

logger = logging.getLogger(__name__)

FEEDS_OF_SECTION = 3
"""Feeds taken from a section that was found: its own, and the site's."""


class Reader:
    """Reads the answers of one crawl."""

    def __init__(self, crawl: Crawl, *, obeys_noindex: bool) -> None:
        """``obeys_noindex``: keep no page whose owner wants it in no index."""
        self._context, self._scope, self._judge = crawl.context, crawl.scope, crawl.judge
        self._lines, self._rights, self._hubs = crawl.sites.shared_lines, crawl.sites.rights, crawl.hubs
        self._indexes, self._obeys_noindex = SitemapIndexes(crawl), obeys_noindex

    def read(self, response: Response, visit: Visit) -> Iterator[Found | Article]:
        """Yield what the answer gives; what it says of the page goes into ``visit``."""
        self._context.count(f"fetched/{visit.kind}")
        domain = visit.rule.domain
        self._context.count_site(domain, "fetched")
        visit.note(self._context.clock(), EventKind.FETCHED, status=response.status, bytes=len(response.body))
        if response.status == 304:
            self._unchanged(visit)
            return
        if response.status >= 300:
            visit.outcome.error = cause_of_status(response.status)
            if not visit.guessed:
                self._context.count_error(domain, visit.outcome.error)
            if not visit.kind.is_source:
                self._context.count_site(domain, "pages")
            return
        digest = hashlib.blake2b(response.body, digest_size=16).hexdigest()
        visit.page["content_hash"] = digest
        if visit.kind.is_source and not visit.anew and _hash_before(visit) == digest:
            visit.outcome.changed = False
            self._unchanged(visit)
            return
        if visit.kind.is_source and self._scope.arguments.narrows:
            # what this crawl leaves out is still new to the next one: it must not find the source unchanged
            visit.page.update(content_hash=None, etag=None, last_modified=None)
        visit.outcome.changed = _hash_before(visit) != digest
        readers = {
            Kind.FEED: self._read_feed,
            Kind.SITEMAP: self._read_sitemap,
            Kind.SECTION: self._read_section,
        }
        yield from readers.get(visit.kind, self._read_article)(response, visit)

    def _unchanged(self, visit: Visit) -> None:
        self._context.count("unchanged")
        self._context.count_site(visit.rule.domain, "unchanged")
        self._indexes.rest(visit)

    def _fault(self, visit: Visit, cause: str, text: str = "") -> None:
        visit.outcome.error = cause
        visit.note(self._context.clock(), EventKind.UNREADABLE, cause=cause, text=text[:200])
        if not visit.guessed:
            self._context.count_error(visit.rule.domain, cause)

    def _read_feed(self, response: Response, visit: Visit) -> Iterator[Found | Article]:
        try:
            with self._context.timed("feed"):
                feed = parse_feed(response.body, response.url, _content_type(response), zone=_zone(visit))
        except FeedError as error:
            self._fault(visit, f"feed_{error.reason}", str(error))
            return
        visit.page["links_count"] = len(feed.links)
        visit.outcome.ttl, visit.outcome.skip_hours = feed.ttl, feed.skip_hours
        self._note_window(visit, feed.links)
        if feed.problems:
            self._context.count("feeds/problems", len(feed.problems))
            visit.note(self._context.clock(), EventKind.FEED_PROBLEMS, problems=feed.problems[:5])
        hubs = [hub.url for hub in feed.hubs if hub.protocol == "websub"]
        self._hubs.offer(response, visit, hubs, feed.self_url)
        yield Found(links=tuple(feed.links), referrer=response.url, depth=visit.lease.entry.depth + 1)

    def _note_window(self, visit: Visit, links: Sequence[Link]) -> None:
        """Note how much the source shows at once, and how far that goes back by its dates."""
        dates = [link.published_at.timestamp() for link in links if link.published_at is not None]
        visit.outcome.shown = len(links)
        if len(dates) > 1 and min(dates) < self._context.clock():
            visit.outcome.span = self._context.clock() - min(dates)

    def _read_sitemap(self, response: Response, visit: Visit) -> Iterator[Found | Article]:
        try:
            with self._context.timed("sitemap"):
                sitemap = parse_sitemap(response.body, response.url, zone=_zone(visit))
        except SitemapError as error:
            self._fault(visit, f"sitemap_{error.reason}", str(error))
            return
        visit.page["links_count"] = len(sitemap.links) + len(sitemap.children)
        self._note_window(visit, sitemap.links)
        dates = [moment for link in sitemap.links if (moment := link.published_at or link.modified_at)]
        self._indexes.rest(visit, max(dates, default=None))
        depth = visit.lease.entry.depth
        yield Found(links=tuple(sitemap.links), referrer=response.url, depth=depth + 1)
        if depth < visit.rule.max_depth:
            yield from self._indexes.files(sitemap.children, response.url, visit)

    def _parse(self, response: Response, visit: Visit) -> HtmlElement | None:
        charset = http_content_type_encoding(_content_type(response))
        try:
            with self._context.timed("parse"):
                tree = parse_html(response.body, charset)
        except NotAnArticle as error:
            self._fault(visit, error.reason)
            return None
        visit.rights = page_rights(headers_of(response), tree, self._rights.signals(response.url))
        return tree

    def _links(self, tree: HtmlElement, response: Response, visit: Visit) -> Found:
        """Return the links of a page; none if it says ``nofollow``."""
        if not visit.rights.follow:
            visit.note(self._context.clock(), EventKind.NOFOLLOW)
            self._context.count("links/nofollow_pages")
            return Found(links=(), referrer=response.url, depth=visit.lease.entry.depth + 1)
        with self._context.timed("links"):
            links = tuple(find_links(tree, response.url, zone=_zone(visit)))
        visit.page["links_count"] = len(links)
        if len(links) >= MAX_LINKS:
            self._context.count("links/cut")
            visit.note(self._context.clock(), EventKind.LINKS_CUT, kept=MAX_LINKS)
            logger.info("links cut domain=%s url=%s kept=%d", visit.rule.domain, response.url, MAX_LINKS)
        return Found(links=links, referrer=response.url, depth=visit.lease.entry.depth + 1)

    def _read_section(self, response: Response, visit: Visit) -> Iterator[Found | Article]:
        tree = self._parse(response, visit)
        if tree is None:
            return
        if visit.data.get("where") == Where.SEED and visit.hops:
            self._tell_move(response, visit)
        if visit.data.get("where") in (Where.SEED, Where.ARGUMENT) and not visit.rule.has_sources:
            yield _named(tree, response, visit)
        elif visit.data.get("where") == Where.AUTODISCOVERY and not visit.rule.has_sources:
            feeds = find_sources(tree, response.url)[:FEEDS_OF_SECTION]
            yield Found(links=tuple(feeds), referrer=response.url, depth=visit.lease.entry.depth + 1)
        self._hubs.offer(response, visit, *hubs_in(tree, response.url))
        yield self._links(tree, response, visit)

    def _tell_move(self, response: Response, visit: Visit) -> None:
        """Log that what a rule names has moved to another site: what is found there belongs to that one."""
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

    def _read_article(self, response: Response, visit: Visit) -> Iterator[Found | Article]:
        domain = visit.rule.domain
        self._context.count("pages")
        self._context.count_site(domain, "pages")
        if not looks_like_html(response.body, _content_type(response)):
            self._no_article(visit, "not_html")
            return
        tree = self._parse(response, visit)
        if tree is None:
            return
        if first := first_page(tree, response.url):  # its visit fetches this page too, and joins them
            self._no_article(visit, "continuation")
            page = Link(url=first, where=Where.REDIRECT, kind=Kind.ARTICLE)
            yield Found(links=(page,), referrer=response.url, depth=visit.lease.entry.depth)
            return
        links = None
        if self._judge.follows(Kind.ARTICLE, visit.rule, visit):
            links = self._links(tree, response, visit)
        try:
            with self._context.timed("extract"):
                memory = self._lines.of(domain)
                self._refuse_noindex(visit)
                article = read_page(
                    response.body,
                    response.url,
                    rule=visit.rule,
                    hint=visit.hint(),
                    tree=tree,
                    now=self._context.now(),
                    memory=memory,
                )
        except NotAnArticle as error:
            self._no_article(visit, error.reason)
            if visit.data.get("where") == Where.ARGUMENT and not visit.rule.has_sources:
                yield _named(tree, response, visit)  # its address did not say that it is a front
        else:
            visit.outcome.is_article = True
            visit.page["canonical_url"], visit.page["title"] = article.canonical_url, article.title
            visit.page["published_at"] = article.published_at and iso(article.published_at)
            self._context.count("pages/articles")
            self._context.count_site(domain, "article_pages")
            article.discovered_at = utc(visit.discovered_at())
            article.fetched_at = self._context.now()
            article.rights = dict(visit.rights.signals)
            memory.learn(article.url, article.text.splitlines())
            if _NEXT.search(response.body) or any("next_page" in one.extract for one in visit.rule.layouts):
                visit.next_page = next_page(tree, response.url, visit.rule, self._context.now())
            yield article
        if links is not None:
            yield links

    def _refuse_noindex(self, visit: Visit) -> None:
        """Raise ``NotAnArticle`` for a page whose owner wants it in no index: ours is one."""
        if not visit.rights.index and self._obeys_noindex:
            raise NotAnArticle("noindex")

    def _no_article(self, visit: Visit, reason: str) -> None:
        visit.outcome.is_article, visit.no_article = False, reason
        visit.note(self._context.clock(), EventKind.NOT_AN_ARTICLE, reason=reason)
        self._context.count(f"not_article/{reason}")


def _hash_before(visit: Visit) -> str | None:
    return None if visit.record is None else visit.record.content_hash


def _zone(visit: Visit) -> tzinfo:
    return ZoneInfo(visit.rule.timezone) if visit.rule.timezone else UTC


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


# --- sources


# --- pages


def _named(tree: HtmlElement, response: Response, visit: Visit) -> Found:
    """Return the feeds and sections that a page names which a person began with."""
    named = (*find_sources(tree, response.url), *find_sections(tree, response.url, visit.rule))
    return Found(links=named, referrer=response.url, depth=1)


def looks_like_html(body: bytes, content_type: str) -> bool:
    """Return False for JSON, feeds, sitemaps and plain text: parsed as HTML they would look like prose.

    What the server calls it counts only where the first bytes say nothing.
    """
    head = body[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if _TAG.search(head):
        return not _OTHER_ROOT.search(head) or b"<html" in head.lower()
    return not head.startswith((b"{", b"[")) and not content_type.lower().startswith(_NO_HTML)


_NEXT = re.compile(rb"""rel\s{0,3}=\s{0,3}["']?[\w ]{0,40}next""", re.IGNORECASE)
_HEAD = 2048
_TAG = re.compile(rb"<[a-z!?]", re.IGNORECASE)
_OTHER_ROOT = re.compile(
    rb"^(?:<\?.{0,300}?\?>|<!--.{0,500}?-->|<!DOCTYPE.{0,300}?>|\s){0,20}+"
    rb"<(?:\w{1,20}:)?(?:rss|rdf|feed|urlset|sitemapindex|opml)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_NO_HTML = ("application/json", "application/ld+json", "application/feed+json", "text/plain", "text/csv")
