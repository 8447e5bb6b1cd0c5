"""``scrapy crawl news``: reads the sources of sites, follows links to articles, and yields articles.

Articles of several pages are joined (:class:`Paging`). The further pages are fetched within the visit of the
first page. The result is one article, which is marked ``partial`` if one of the pages could not be read. The
delay of the host, robots.txt and the address guard apply to each of these pages.

``scrapy parse --spider news URL`` reads one page without a crawl. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from twisted.python.failure import Failure

from newsbot.backends import open_rules
from newsbot.clock import system_clock, utc
from newsbot.config.apps import open_documents
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.components import NewsbotSpider
from newsbot.crawl.failures import cause_for, cause_of, text_of
from newsbot.crawl.links.canonical import alias_of
from newsbot.crawl.scope import Arguments, parse_arguments
from newsbot.crawl.sources import make_due, seeds
from newsbot.crawl.visit import META_KEY, RULE_KEY, Ending, Found, Visit, keep_page
from newsbot.errors import DataError, NotAnArticle
from newsbot.items import Article, Details, EventKind, Reason
from newsbot.middlewares import content_type_of, tree_of
from newsbot.pages.discovery.feeds import SourceError, parse_feed
from newsbot.pages.discovery.list_pages import find_links
from newsbot.pages.discovery.reader import DocumentReader
from newsbot.pages.discovery.sitemaps import parse_sitemap
from newsbot.pages.extraction import SiteMemory, join_pages, next_page, read_page
from newsbot.pages.extraction.addresses import MAX_PAGES
from newsbot.pages.extraction.fields.titles import same_title
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule, classify
from newsbot.recrawl.planning import KNOWN_PAGE
from newsbot.spiders.reading import Reader, looks_like_html, page_of
from newsbot.spiders.sources import PAUSE, REFUSALS, FeedContent
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)


class Paging:
    """Fetches the further pages of articles."""

    def __init__(self, crawl: Crawl, engine: ExecutionEngine) -> None:
        self._context, self._removals = crawl.context, crawl.removals
        self._lines, self._engine = crawl.sites.shared_lines, engine

    async def whole(self, visit: Visit, article: Article) -> Article | None:
        """Return the article joined with its further pages, at most :data:`MAX_PAGES` in all.

        ``article`` is the article of the first page. Returns None if the crawl ends in the meantime; the
        lease is then released and another crawl reads the article. Raises :class:`newsbot.errors.DataError`
        if a backend becomes unavailable.
        """
        pages = [article]
        seen = {_key(article.url)}  # the pages may link to each other in a circle
        url = visit.reading.next_page
        fault: str | None = None
        while url is not None and len(pages) < MAX_PAGES and _key(url) not in seen:
            if classify(visit.rule, url).denied:
                fault = Reason.DENIED.value
                break
            seen.add(_key(url))
            if self._context.outage.ending():
                visit.end(Ending.HELD)
                return None
            try:
                response = await _fetch(self._engine, url, visit.rule)
                memory = await self._context.calls.run(self._lines.of, visit.rule.domain)
                now = self._context.now()
                with self._context.timed("extract"):
                    page, url = await asyncio.to_thread(_read, response, visit, memory, now)
                if visit.reading.rights.archive:
                    await keep_page(self._context, self._removals, response)
            except DataError:
                raise
            except Exception as error:  # noqa: BLE001  (after any failure, the pages read before are kept)
                fault = error.reason if isinstance(error, NotAnArticle) else cause_of(error)
                break
            if not same_title(article.title, page.title):
                break  # some sites use rel=next for the next article
            pages.append(page)
            # Links to this page need no visit, because its text is part of the article.
            alias = alias_of(visit, page.url, _key(page.url), self._context.clock())
            await self._context.calls.run(self._context.frontier.mark_done, [alias], None)
            self._context.count("pages/joined")
        details: Details = {"pages": len(pages)}
        if fault:
            details["fault"] = fault
        visit.note(self._context.clock(), EventKind.PAGES_JOINED, **details)
        joined = join_pages(pages)
        return replace(joined, partial=True) if fault else joined


def _read(response: Response, visit: Visit, memory: SiteMemory, now: datetime) -> tuple[Article, str | None]:
    """Return the article of a further page, and the URL of the next page or None.

    The function may run in any thread.
    """
    tree = tree_of(response)
    page = read_page(
        response.body,
        response.url,
        rule=visit.rule,
        hint=visit.hint(),
        tree=tree,
        now=now,
        memory=memory,
        vouched=True,
    )
    return page, next_page(tree, response.url, visit.rule, now)


async def _fetch(engine: ExecutionEngine, url: str, rule: Rule) -> Response:
    response = await engine.download_async(Request(url, callback=NO_CALLBACK, meta={RULE_KEY: rule}))
    if response.status != 200:
        raise NotAnArticle(f"status_{response.status}")
    return response


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))


_NO_ERROR = (Reason.TOO_YOUNG, Reason.UNNAMED, Reason.LIMIT, Reason.REMOVED, *KNOWN_PAGE)
"""Reasons why a page was not fetched. They are not faults of the site."""


class NewsSpider(NewsbotSpider):
    """Crawls news.

    Its arguments are in :mod:`newsbot.crawl.scope`; wrong arguments raise ``ArgumentError``.
    """

    name = "news"

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name)
        self.arguments = parse_arguments(arguments, now=utc(system_clock()))

    @staticmethod
    def read_arguments(given: Mapping[str, Any], now: datetime) -> Arguments:
        """Return the arguments of a crawl. Raises ``ArgumentError`` if any is wrong."""
        return parse_arguments(given, now=now)

    @cached_property
    def _crawl(self) -> Crawl:
        return Crawl.of(self.crawler)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(
            self._crawl,
            obeys_noindex=self.settings.getbool("NEWSBOT_OBEY_NOINDEX"),
            documents=open_documents(self.settings.get("NEWSBOT_APPS")),
        )

    @cached_property
    def _feed_content(self) -> FeedContent:
        assert self.crawler.engine is not None
        obeys_noindex = self.settings.getbool("NEWSBOT_OBEY_NOINDEX")
        return FeedContent(self._crawl, self.crawler.engine, obeys_noindex=obeys_noindex)

    @cached_property
    def _paging(self) -> Paging:
        assert self.crawler.engine is not None
        return Paging(self._crawl, self.crawler.engine)

    async def start(self) -> AsyncIterator[Any]:
        """Yield the seeds of the crawl. The links middleware queues them."""
        context, scope = self._crawl.context, self._crawl.scope
        # With the argument ``now``, all known sources are read at once. Queueing the seeds would not change
        # the due times of known sources.
        if self.arguments.now:
            domains, now = scope.limited_to, context.clock()
            await context.calls.run(make_due, context.storage, context.frontier, context.rules, domains, now)
        for found in seeds(context, scope):
            yield found
        for rule in scope.selected_rules():
            if rule.article:
                await context.calls.run(self._queue_matching, rule)
        # All sites have been queued. From now on, failures of all sites mean that no host can be reached.
        self._crawl.reachability.begun = True

    def _queue_matching(self, rule: Rule) -> None:
        """Queue the waiting links that match the rule, if the rule has changed since the last crawl."""
        batch = self._crawl.families.matching(rule)
        self._crawl.links.queue_waiting(batch, None)
        if new := len(batch.entries):
            logger.info(
                "waiting links queued domain=%s number=%d; they match the changed rule", rule.domain, new
            )

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Found | Article | Request]:
        """Read one response. Yield its links, and at most one article with the text of all its pages."""
        visit: Visit | None = response.meta.get(META_KEY)
        if visit is None:  # scrapy parse
            documents = open_documents(self.settings.get("NEWSBOT_APPS"))
            for one in read_one_page(response, open_rules(self.settings), documents):
                yield one
            return
        parsed = await self._reader.parse_ahead(response, visit)
        results, run = self._reader.read(response, visit, parsed), self._crawl.context.calls.run
        while (result := await run(next, results, None)) is not None:
            if result is PAUSE:
                await asyncio.sleep(0)
                continue
            article: Found | Article | None = result
            if isinstance(result, Article) and visit.reading.next_page is not None:
                article = await self._paging.whole(visit, result)
            if isinstance(article, Article) and article.partial:
                article = await self._feed_content.completed(article, visit)
                visit.read(is_teaser=article.partial)
            if article is not None:
                yield article
        if response.status in REFUSALS and not visit.kind.is_source:
            article = await self._feed_content.instead_of(response, visit)
            if article is not None:
                yield await run(self._reader.accept, article, visit)

    def failed(self, failure: Failure) -> None:
        """Record in the visit why there was no response.

        :mod:`newsbot.crawl.completion` plans the next try.
        """
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        assert failure.value is not None
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None:
            return
        context = self._crawl.context
        if isinstance(failure.value, DataError):
            visit.end(Ending.RETURNED)
            return
        cause = cause_for(request.url, failure.value)
        visit.read(error=cause)
        visit.note(context.clock(), EventKind.NO_PAGE, cause=cause, text=text_of(failure.value))
        if cause not in _NO_ERROR and not visit.guessed:
            context.count_error(visit.rule.domain, cause)


# --- one page
def read_one_page(
    response: Response, rules: RuleSet, documents: Sequence[DocumentReader] = ()
) -> Iterator[Article | Request]:
    """Yield the article of a page, and a request for each link of a page, feed or sitemap.

    ``documents`` read files that are not HTML. The log says why a page is not an article.
    """
    try:
        response = page_of(documents, response)
    except NotAnArticle as error:
        logger.warning("not an article url=%s reason=%s", response.url, error.reason)
        return
    if not looks_like_html(response.body, content_type_of(response)):
        links = _listed(response)
    else:
        links, rule, now = [], rules.for_url(response.url), utc(system_clock())
        try:
            tree = tree_of(response)
            links = [link.url for link in find_links(tree, response.url)]
            yield read_page(response.body, response.url, rule=rule, tree=tree, now=now, vouched=True)
        except NotAnArticle as error:
            logger.warning("not an article url=%s reason=%s", response.url, error.reason)
    yield from map(Request, links)


def _listed(response: Response) -> list[str]:
    """Return the addresses in a feed or sitemap."""
    try:
        feed = parse_feed(response.body, response.url, content_type_of(response))
        return [link.url for link in feed.links]
    except SourceError:
        try:
            sitemap = parse_sitemap(response.body, response.url)
        except SourceError as error:
            logger.warning("not a page, feed or sitemap url=%s fault=%s", response.url, error)
            return []
        return [*(link.url for link in sitemap.links), *(child.url for child in sitemap.children)]
