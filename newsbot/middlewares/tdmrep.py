"""Fetches ``/.well-known/tdmrep.json`` of each host once per day, before the first article page of the host
on that day.

The file states rights reservations on text and data mining (TDM Reservation Protocol, W3C Community Group).
All workers, and the schemes http and https, share one copy of the file (:mod:`newsbot.sites.rights`). Its
content is recorded with the articles. If the file cannot be read, this is recorded instead, and the file is
requested again after an hour. The request for the file obeys robots.txt.

If robots.txt names a licence (RSL), its file is fetched in the same way, also from another host.
"""

from __future__ import annotations

import asyncio
from functools import partial

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of, status_of
from newsbot.crawl.visit import META_KEY, TURN_KEY, Turn, Visit
from newsbot.errors import DataError
from newsbot.items import Bounded, Reason
from newsbot.middlewares import Middleware
from newsbot.middlewares.compression import AS_SENT_KEY, is_damaged
from newsbot.pages.rights import MAX_BYTES, PATH, Reservations, read_rsl, read_tdmrep
from newsbot.sites.rights import LICENCE, MAX_KNOWN, HostFile, keep_file, kept_file, origin_of
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
        self._asked: dict[str, asyncio.Future[None]] = {}
        """The tasks that are fetching a file, by host."""
        self._expires = Bounded[str, float](MAX_KNOWN)
        """The time when the file of a host is due again (POSIX seconds)."""

    async def process_request(self, request: Request) -> None:
        """Let a page wait until the file of its host is known.

        Feeds, sitemaps and sections do not need it.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit.kind.is_source:
            return
        host, now = host_key(request.url), self._context.clock()
        expires = self._expires.get(host, 0.0)
        if expires < now and host not in self._asked:
            turn = request.meta.pop(TURN_KEY, None)  # the page then takes the next turn
            task = self._asked[host] = asyncio.ensure_future(self._learn(origin_of(request.url), turn))
            task.add_done_callback(lambda _: self._asked.pop(host))
        if host in self._asked:
            # Several requests may wait for this task. If one is cancelled, shield() keeps the task running.
            await asyncio.shield(self._asked[host])

    async def _learn(self, origin: str, turn: Turn | None) -> None:
        host = host_key(origin)
        file = await self._file(host, PATH, origin + PATH, turn)
        if licence := self._rights.licence_address(origin):
            terms = await self._file(host, LICENCE, licence, None)
            self._rights.heard_licence(origin, read_rsl(terms.body or b""))
        reservations = Reservations(unknown=True) if file.unread else read_tdmrep(file.body or b"")
        if reservations.rules:
            self._context.count("tdmrep/found")
        self._rights.heard_tdmrep(origin, reservations)
        self._expires[host] = file.expires

    async def _file(self, host: str, name: str, url: str, turn: Turn | None) -> HostFile:
        """Return a file that a worker has read within the last day, or fetch it now."""
        run, notes = self._context.calls.run, self._context.notes
        return await run(kept_file, notes, host, name, self._context.clock()) or await self._ask(
            host, name, url, turn
        )

    async def _ask(self, host: str, name: str, url: str, turn: Turn | None) -> HostFile:
        """Fetch a file and store it for all workers, under ``name`` and the host whose pages it is for."""
        meta = {
            "download_maxsize": MAX_BYTES,
            "download_timeout": TIMEOUT,
            "download_fail_on_dataloss": False,
            AS_SENT_KEY: True,
            TURN_KEY: turn,
        }
        counted = "licence" if name == LICENCE else "tdmrep"
        self._context.count(f"{counted}/asked")
        body, unread = None, False
        try:
            response = await self.download(url, meta=meta)
            unread = response.status >= 500 or response.status == 429
            unread |= response.status == 200 and is_damaged(response)
            body = bytes(response.body[:MAX_BYTES]) if response.status == 200 else None
        except DataError:
            raise  # a fault of our backends, not of the host
        except Exception as error:  # noqa: BLE001  (after any failure of the host, the page is read anyway)
            unread = cause_of(error) != Reason.REDIRECTS and not 400 <= (status_of(error) or 0) < 500
        if unread:
            self._context.count(f"{counted}/unreachable")
        keep = partial(keep_file, unread=unread)
        notes, now = self._context.notes, self._context.clock()
        return await self._context.calls.run(keep, notes, host, name, body, now)
