"""Fetches ``/.well-known/tdmrep.json`` of each site once a day, before its first page of the day.

What the file says is recorded with the articles. A site without one, or that does not answer, reserves
nothing by it. robots.txt is obeyed, and the file takes a turn of the host's clock.
"""

from __future__ import annotations

import asyncio

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.rights import Reservations, read_tdmrep
from newsbot.rights.tdmrep import MAX_BYTES, PATH
from newsbot.sites.rights import MAX_KNOWN, origin_of
from newsbot.urls import host_key

KEEP_SECONDS = 24 * 3600.0
TIMEOUT = 10.0


class TdmRepMiddleware:
    """See the module's text; NEWSBOT_TDMREP switches it off."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("NEWSBOT_TDMREP"):
            raise NotConfigured
        crawl = Crawl.of(crawler)
        self.crawler = crawler
        self._context, self._politeness, self._rights = crawl.context, crawl.politeness, crawl.sites.rights
        self._asked: dict[str, tuple[float, asyncio.Future[None]]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TdmRepMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Let a page wait until its site's file is known; feeds and sitemaps need none."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit.kind.is_source:
            return
        origin, now = origin_of(request.url), self._context.clock()
        asked = self._asked.get(origin)
        if asked is None or asked[0] < now:
            if len(self._asked) >= MAX_KNOWN:
                self._asked = {where: one for where, one in self._asked.items() if not one[1].done()}
            asked = self._asked[origin] = (now + KEEP_SECONDS, asyncio.ensure_future(self._ask(origin)))
        # shield: a request that is cancelled must not take the answer away from the others
        await asyncio.shield(asked[1])

    async def _ask(self, origin: str) -> None:
        meta = {"download_maxsize": MAX_BYTES, "download_timeout": TIMEOUT}
        engine = self.crawler.engine
        assert engine is not None
        self._context.count("tdmrep/asked")
        told = Reservations()
        try:
            response = await engine.download_async(Request(origin + PATH, callback=NO_CALLBACK, meta=meta))
        except Exception:  # noqa: BLE001  (whatever keeps the file from us: then nothing is known of it)
            self._context.count("tdmrep/unreachable")
        else:
            if response.status == 200:
                told = read_tdmrep(response.body)
            if told.rules:
                self._context.count("tdmrep/found")
        self._rights.heard_tdmrep(origin, told)
        delay = self._politeness.delay_of(host_key(origin))
        if delay > 0:  # the file took the page's turn; the page takes the next one
            self._politeness.rest(host_key(origin), 2 * delay)
            await asyncio.sleep(delay)
