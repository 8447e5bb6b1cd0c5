"""``scrapy crawl news``: reads the sources of sites, follows links to articles, and yields articles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from newsbot.clock import system_clock, utc
from newsbot.crawl import address_guard
from newsbot.crawl.arguments import Arguments, parse_arguments
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of, text_of
from newsbot.crawl.seeds import seeds
from newsbot.crawl.source_state import make_due
from newsbot.crawl.visit import META_KEY, Ending, Found, Visit
from newsbot.errors import DataError
from newsbot.items import Article, EventKind, Reason
from newsbot.recrawl.planning import KNOWN_PAGE
from newsbot.spiders.paging import Paging
from newsbot.spiders.reading import Reader
from newsbot.urls import host_key

_NO_ERROR = (Reason.TOO_YOUNG, Reason.UNNAMED, Reason.LIMIT, Reason.REMOVED, *KNOWN_PAGE)
"""Reasons why a page was not fetched. They are not faults of the site."""


class NewsSpider(Spider):
    """Crawls news.

    Its arguments are in :mod:`newsbot.crawl.arguments`; wrong ones raise ``ArgumentError``.
    """

    name = "news"

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name)
        self.arguments = parse_arguments(arguments, now=utc(system_clock()))

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> NewsSpider:
        """Make the spider as Scrapy does."""
        return super().from_crawler(crawler, *args, **kwargs)

    @staticmethod
    def read_arguments(given: Mapping[str, Any], now: datetime) -> Arguments:
        """Return the arguments of a crawl. Raises ``ArgumentError`` if any is wrong."""
        return parse_arguments(given, now=now)

    @cached_property
    def _crawl(self) -> Crawl:
        return Crawl.of(self.crawler)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._crawl, obeys_noindex=self.settings.getbool("NEWSBOT_OBEY_NOINDEX"))

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
            domains = scope.limited_to or {rule.domain for rule in context.rules}
            await context.calls.run(
                make_due, context.storage, context.frontier, context.rules, domains, context.clock()
            )
        for found in seeds(context, scope):
            yield found
        # While seeds are still being queued, other sites may follow: failures do not prove that no host can
        # be reached.
        self._crawl.reachability.begun = True

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Found | Article]:
        """Read one response. Yield its links, and at most one article with the text of all its pages."""
        visit: Visit = response.meta[META_KEY]
        await self._reader.parse_ahead(response, visit)
        results, run = self._reader.read(response, visit), self._crawl.context.calls.run
        while (result := await run(next, results, None)) is not None:
            article: Found | Article | None = result
            if isinstance(result, Article) and visit.next_page is not None:
                article = await self._paging.whole(visit, result)
            if article is not None:
                yield article

    def failed(self, failure: Failure) -> None:
        """Note in the visit why there was no response. :mod:`newsbot.crawl.completion` plans the next try."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        assert failure.value is not None
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None:
            return
        context = self._crawl.context
        if isinstance(failure.value, DataError):
            visit.end(Ending.RETURNED)
            return
        cause = cause_of(failure.value)
        # Twisted reports a refused private address as a name that does not exist.
        if cause == Reason.DNS and host_key(request.url) in address_guard.refused:
            cause = Reason.PRIVATE_ADDRESS.value
        visit.outcome.error = cause
        visit.note(context.clock(), EventKind.NO_PAGE, cause=cause, text=text_of(failure.value))
        if cause not in _NO_ERROR and not visit.guessed:
            context.count_error(visit.rule.domain, cause)
