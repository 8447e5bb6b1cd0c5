"""robots.txt (RFC 9309): fetched once a day for each host and obeyed; its Crawl-delay and Sitemap lines are
used.

Scrapy 2.19's own middleware lets disallowed requests through under concurrency: several coroutines await
one Deferred and all but the first get None. Here all wait for one task per host.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from protego import Protego
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored, cause_of
from newsbot.crawl.visit import META_KEY, Found, Visit
from newsbot.discovery.autodiscovery import from_robots
from newsbot.items import Reason
from newsbot.rights import read_robots
from newsbot.rules.schema import Rule
from newsbot.urls import host_key

MAX_BYTES = 512 * 1024  # RFC 9309, 2.5: at least 500 KiB
MAX_DOWNLOAD = 32 * MAX_BYTES
"""Of a larger file the beginning holds all the same; Scrapy gives nothing of an answer that it cut off."""
KEEP_SECONDS = 24 * 3600.0  # RFC 9309, 2.4
KEEP_FAILED_SECONDS = 300.0
MAX_KNOWN = 20_000
"""Origins whose robots.txt is remembered; then all are asked again as they come."""


@dataclass(frozen=True, slots=True)
class Robots:
    """What robots.txt of one origin says."""

    expires: float
    parser: Protego | None = None
    """None: everything is allowed, unless ``fault`` says that nothing is."""
    text: str = ""
    fault: str | None = None
    """``robots_unreachable`` (no answer) or ``robots_failing`` (a server error)."""


class RobotsMiddleware:
    """See the module's text."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        crawl = Crawl.of(crawler)
        self.crawler = crawler
        self._context, self._politeness, self._rights = crawl.context, crawl.politeness, crawl.sites.rights
        self._follow = crawl.scope.arguments.follow
        self.agent: str = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]
        self.delay_cap = crawler.settings.getfloat("NEWSBOT_CRAWL_DELAY_CAP")
        self._asked: dict[str, asyncio.Future[Robots]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Raise :class:`Ignored` (``robots`` or the fault of robots.txt) for what must not be fetched."""
        if request.meta.get("dont_obey_robotstxt"):
            return
        robots = await self._robots(request)
        if robots.parser is not None and robots.parser.crawl_delay(self.agent) is not None:
            self._set_pace(robots, request)  # each time: another worker may know the host's rule only
        if robots.fault is not None:
            raise Ignored(robots.fault, f"left alone for now, robots.txt gave: {robots.text}")
        if robots.parser is not None and not robots.parser.can_fetch(request.url, self.agent):
            raise Ignored(Reason.ROBOTS, "forbidden by robots.txt")

    async def _robots(self, request: Request) -> Robots:
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        known = self._asked.get(origin)
        if known is not None and known.done() and self._is_over(known):
            known = None
        if known is None:
            if len(self._asked) >= MAX_KNOWN:
                self._asked = {where: told for where, told in self._asked.items() if not told.done()}
            known = asyncio.ensure_future(self._ask(origin, request))
            self._asked[origin] = known
        # shield: a request that is cancelled must not take the answer away from the others
        return await asyncio.shield(known)

    def _is_over(self, told: asyncio.Future[Robots]) -> bool:
        """Return True for an answer that is too old, or that a fault of ours kept from us."""
        faulty = told.cancelled() or told.exception() is not None
        return faulty or told.result().expires < self._context.clock()

    async def _ask(self, origin: str, request: Request) -> Robots:
        question = Request(
            f"{origin}/robots.txt",
            callback=NO_CALLBACK,
            meta={"dont_obey_robotstxt": True, "download_maxsize": MAX_DOWNLOAD},
        )
        engine = self.crawler.engine
        assert engine is not None
        self._context.count("robots/asked")
        try:
            response = await engine.download_async(question)
        except Exception as error:  # noqa: BLE001  (whatever keeps robots.txt from us closes the site)
            if cause_of(error) == Reason.REDIRECTS:  # RFC 9309, 2.3.1.2: after five hops as good as none
                return Robots(self._context.clock() + KEEP_SECONDS)
            self._context.count("robots/unreachable")
            return self._closed(Reason.ROBOTS_UNREACHABLE, f"{type(error).__name__}: {error}")
        if response.status >= 500 or response.status == 429:
            self._context.count("robots/unreachable")
            return self._closed(Reason.ROBOTS_FAILING, f"status {response.status}")
        robots = self._read(response)
        if robots.parser is not None:
            self._rights.heard_robots(origin, read_robots(robots.text), robots.parser.can_fetch)
        self._set_pace(robots, request)
        self._count_turn(origin)
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None and robots.parser is not None:
            self._use(robots, visit.rule, origin, visit)
        return robots

    def _closed(self, fault: str, text: str) -> Robots:
        # RFC 9309, 2.3.1.4: an unreachable robots.txt means complete disallow
        return Robots(self._context.clock() + KEEP_FAILED_SECONDS, text=text, fault=fault)

    def _read(self, response: Response) -> Robots:
        expires = self._context.clock() + KEEP_SECONDS
        if response.status >= 300:  # RFC 9309, 2.3.1.3: unavailable means no restriction
            return Robots(expires)
        text = response.body[:MAX_BYTES].decode("utf-8-sig", errors="ignore")
        return Robots(expires, Protego.parse(text), text)

    def _set_pace(self, robots: Robots, request: Request) -> None:
        """Tell the frontier how often the host may be asked: as its rule says, or less by its Crawl-delay."""
        wanted = None if robots.parser is None else robots.parser.crawl_delay(self.agent)
        rule = self._context.rule_for(request.url)
        self._politeness.set_pace(host_key(request.url), rule, min(float(wanted or 0.0), self.delay_cap))

    def _count_turn(self, origin: str) -> None:
        """Let the pause before the host's next page begin now: the page that asked goes out now."""
        host = host_key(origin)
        delay = self._politeness.delay_of(host)
        if delay > 0:
            self._politeness.rest(host, delay)

    def _use(self, robots: Robots, rule: Rule, origin: str, visit: Visit) -> None:
        chosen = self._follow or rule.follow or ()
        if not rule.has_sources or ("sitemaps" in chosen and not rule.sitemaps):
            links = tuple(from_robots(robots.text, f"{origin}/robots.txt"))
            if links:
                visit.found.append(Found(links=links, referrer=f"{origin}/robots.txt", depth=0))
