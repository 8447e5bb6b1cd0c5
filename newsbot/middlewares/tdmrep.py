"""Fetches ``/.well-known/tdmrep.json`` of each host once per day, before the first article page of the host
on that day.

The file states rights reservations on text and data mining (TDM Reservation Protocol, W3C Community Group).
All workers, and the schemes http and https, share one copy of the file (:mod:`newsbot.sites.rights`). Its
content is recorded with the articles. If the site has no such file or does not respond, it counts as a site
that reserves nothing with this protocol. The request for the file obeys robots.txt.
"""

from __future__ import annotations

import asyncio

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.items import Bounded
from newsbot.middlewares import Middleware
from newsbot.rights import MAX_BYTES, PATH, read_tdmrep
from newsbot.sites.rights import KEEP_SECONDS, MAX_KNOWN, keep_file, kept_file, origin_of
from newsbot.urls import host_key

TIMEOUT = 10.0
"""Maximum number of seconds to wait for the file."""


class TdmRepMiddleware(Middleware):
    """Fetches tdmrep.json. NEWSBOT_TDMREP switches it off."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("NEWSBOT_TDMREP"):
            raise NotConfigured
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._rights = crawl.context, crawl.sites.rights
        self._asked = Bounded[str, tuple[float, asyncio.Future[None]]](MAX_KNOWN)

    async def process_request(self, request: Request) -> None:
        """Let a page wait until the file of its host is known.

        Feeds, sitemaps and sections do not need it.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit.kind.is_source:
            return
        host, now = host_key(request.url), self._context.clock()
        asked = self._asked.get(host)
        if asked is None or asked[0] < now:
            task = asyncio.ensure_future(self._learn(origin_of(request.url)))
            asked = self._asked[host] = (now + KEEP_SECONDS, task)
        # Several requests may wait for this task. If one is cancelled, shield() keeps the task running.
        await asyncio.shield(asked[1])

    async def _learn(self, origin: str) -> None:
        host = host_key(origin)
        file = await self._context.calls.run(
            kept_file, self._context.notes, host, PATH, self._context.clock()
        )
        body = await self._ask(origin) if file is None else file.body
        reservations = read_tdmrep(body or b"")
        if reservations.rules:
            self._context.count("tdmrep/found")
        self._rights.heard_tdmrep(origin, reservations)

    async def _ask(self, origin: str) -> bytes | None:
        """Fetch the file and store it for all workers. Return its content, or None if there is no file."""
        meta = {"download_maxsize": MAX_BYTES, "download_timeout": TIMEOUT}
        self._context.count("tdmrep/asked")
        try:
            response = await self.download(origin + PATH, meta=meta)
        except Exception:  # noqa: BLE001  (any failure counts as a site without the file)
            self._context.count("tdmrep/unreachable")
            return None
        body = bytes(response.body[:MAX_BYTES]) if response.status == 200 else None
        await self._context.calls.run(
            keep_file, self._context.notes, host_key(origin), PATH, body, self._context.clock()
        )
        return body
