"""Obeys robots.txt (RFC 9309) and uses its Crawl-delay and Sitemap lines.

For each host, the file is fetched once per day, for all workers and both schemes
(:mod:`newsbot.sites.rights`).

The middleware of Scrapy 2.19 is not used, because it lets disallowed requests pass if several requests are
made at the same time: they await one Deferred, and only the first request gets the file. In this middleware,
all requests of a host await one task.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from protego import Protego
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured, StopDownload
from scrapy.http import Request
from w3lib.encoding import read_bom

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored, cause_of, status_of, text_of
from newsbot.crawl.visit import META_KEY, TURN_KEY, Found, Turn, Visit
from newsbot.errors import DataError
from newsbot.items import Bounded, Reason
from newsbot.middlewares import Middleware
from newsbot.middlewares.compression import AS_SENT_KEY, is_damaged
from newsbot.pages.discovery.autodiscovery import from_robots
from newsbot.pages.rights import RobotsSignals, for_protego, read_robots
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.codings import gunzip
from newsbot.sites.rights import MAX_TEXT, ROBOTS, keep_file, kept_file, origin_of
from newsbot.urls import canonicalize, host_key

MAX_BYTES = 512 * 1024  # RFC 9309, 2.5: at least 500 KiB
MAX_DOWNLOAD = 32 * MAX_BYTES
"""Maximum number of bytes of a robots.txt after decompression. Only the first :data:`MAX_BYTES` are used."""
CUT = "download_stopped"
"""Scrapy's flag of a response whose end was not read."""
STOPS_KEY = "stops"
"""Meta key of a request for robots.txt: the time of the first bytes, and the number of bytes so far."""
KEEP_FAILED_SECONDS = 300.0
"""Seconds before a robots.txt that could not be read is requested again."""
_NO_ANSWER = (Reason.TIMEOUT, Reason.REFUSED, Reason.DNS, Reason.CONNECTION, Reason.PROXY)
MAX_KNOWN = 20_000
"""Maximum number of hosts whose robots.txt is remembered."""


def _whole_lines(file: bytes) -> bytes:
    """Return the file without its last line, which may have been cut."""
    return file[: max(file.rfind(b"\n"), file.rfind(b"\r")) + 1]


def _text_of(file: bytes) -> str:
    """Return the text of a robots.txt. It is in UTF-8 (RFC 9309, 2.2), unless its first bytes show UTF-16."""
    encoding, mark = read_bom(file)
    return file[len(mark or b"") :].decode(encoding or "utf-8", "ignore")


@dataclass(frozen=True, slots=True)
class Robots:
    """The robots.txt of a host. ``origin`` is the scheme and authority from which it was requested."""

    origin: str
    expires: float
    signals: RobotsSignals | None = None
    """What the file says about AI; None if there is no file."""
    parser: Protego | None = None
    """The parsed file, or None if there is no file.

    Without a file, everything is allowed if ``fault`` is None, and nothing is allowed otherwise.
    """
    text: str = ""
    """The content of the file; the error message if there is a ``fault``."""
    fault: str | None = None
    """The token of the reason why the file could not be read, or None.

    ``robots_unreachable`` (no response), ``tls`` (no valid certificate), ``robots_failing`` (server error) or
    ``robots_unreadable`` (damaged or too long).
    """

    def holds_for(self, origin: str) -> bool:
        """Return True if this result applies to ``origin``. A fault applies only to its own scheme."""
        return self.fault is None or self.origin == origin


class RobotsMiddleware(Middleware):
    """Refuses requests that robots.txt does not allow."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        super().__init__(crawler)
        crawler.signals.connect(self._stop, signals.bytes_received)
        crawl = Crawl.of(crawler)
        self._context, self._politeness, self._rights = crawl.context, crawl.politeness, crawl.sites.rights
        self._follow = crawl.scope.arguments.follow
        self.agent: str = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]
        self.delay_cap = crawler.settings.getfloat("NEWSBOT_CRAWL_DELAY_CAP")
        self._longest = crawler.settings.getfloat("DOWNLOAD_TIMEOUT") / 2
        self._asked: dict[str, asyncio.Future[Robots]] = {}
        """The tasks that are fetching a file, by host."""
        self._known = Bounded[str, Robots](MAX_KNOWN)

    async def process_request(self, request: Request) -> None:
        """Raise :class:`Ignored` (``robots`` or the fault of robots.txt) if the URL must not be fetched."""
        if request.meta.get("dont_obey_robotstxt"):
            return
        robots = await self._robots(request)
        if robots.parser is not None and robots.parser.crawl_delay(self.agent) is not None:
            # The delay is set with each request, because another worker may have written the shorter delay of
            # the rule in the meantime.
            await self._context.calls.run(self._set_pace, robots, request)
        if robots.fault is not None:
            raise Ignored(robots.fault, f"not fetched now, because robots.txt cannot be read: {robots.text}")
        if robots.parser is None or robots.signals is None:
            return
        # This is done for each request, because SiteRights and this middleware keep a limited number of
        # hosts.
        self._rights.heard_robots(request.url, robots.signals, robots.parser.can_fetch, len(robots.text))
        # Both the URL that is sent and the URL under which the page is stored must be allowed. The site may
        # write /private/ as //private/ or as /news/../private/.
        stored = canonicalize(request.url, self._context.rule_for(request.url).drop_query)
        if not all(robots.parser.can_fetch(url, self.agent) for url in (request.url, stored)):
            raise Ignored(Reason.ROBOTS, "forbidden by robots.txt")

    async def _robots(self, request: Request) -> Robots:
        """Return the robots.txt of the request's host. The first request of a host fetches it."""
        origin = origin_of(request.url)
        host = host_key(request.url)
        # A host may answer to only one scheme (http or https). The file of one scheme is valid for both
        # schemes, but a fault is valid for one scheme. After a fault of the other scheme, the loop fetches
        # the file with the scheme of this request.
        while True:
            robots = self._known.get(host)
            # A result that is too old, or a fault of the other scheme, cannot be used.
            if robots is None or robots.expires < self._context.clock() or not robots.holds_for(origin):
                if host not in self._asked:
                    task = self._asked[host] = asyncio.ensure_future(self._learn(origin, request))
                    task.add_done_callback(lambda _: self._asked.pop(host))
                # Several requests may wait for this task. If one is cancelled, shield() keeps the task
                # running.
                robots = await asyncio.shield(self._asked[host])
            if robots.holds_for(origin):
                return robots

    async def _learn(self, origin: str, request: Request) -> Robots:
        """Return the robots.txt that a worker has read within the last day, or fetch it now."""
        host = host_key(origin)
        run, notes, clock = self._context.calls.run, self._context.notes, self._context.clock
        file = await run(kept_file, notes, host, ROBOTS, clock())
        if file is None:
            content = await self._ask(origin, request.meta.pop(TURN_KEY, None))
            if isinstance(content, Robots):
                self._known[host] = content
                return content
            file = await run(keep_file, notes, host, ROBOTS, content, clock())
        robots = Robots(origin, file.expires)
        if file.body is not None:
            text = for_protego(_text_of(file.body))
            parser = Protego.parse(text)
            robots = Robots(origin, file.expires, read_robots(text), parser, text)
        await run(self._set_pace, robots, request)
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None and robots.parser is not None:
            # If another site led to the first page of the host, the visit has the rule of that site.
            own = self._context.rule_for(request.url)
            self._use(robots, visit.rule if self._context.rules.get(own.domain) is None else own, visit)
        self._known[host] = robots
        self._known.shrink(MAX_TEXT, lambda one: len(one.text))
        return robots

    async def _ask(self, origin: str, turn: Turn | None) -> bytes | Robots | None:
        """Fetch the file. The request uses ``turn``, the turn of the page's request.

        Returns the content, None if there is no file, or a :class:`Robots` with the fault if the file cannot
        be read.
        """
        meta = {
            "dont_obey_robotstxt": True,
            STOPS_KEY: (0.0, 0),
            "download_maxsize": MAX_DOWNLOAD,
            "download_fail_on_dataloss": False,
            AS_SENT_KEY: True,
            TURN_KEY: turn,
        }
        self._context.count("robots/asked")
        try:
            response = await self.download(f"{origin}/robots.txt", meta=meta)
        except DataError:
            raise  # a fault of our backends, not of the host
        except Exception as error:  # noqa: BLE001  (if robots.txt cannot be read, no page may be fetched)
            return self._without_response(origin, error)
        if response.status >= 500 or response.status == 429:
            return self._closed(origin, Reason.ROBOTS_FAILING, f"status {response.status}")
        # RFC 9309, 2.3.1.3: a file that is not available (status 4xx) means no restriction. The body of such
        # a response is not needed.
        if response.status >= 300:
            return None
        cut = CUT in response.flags
        if is_damaged(response) and not cut:
            text = "the file is cut off, or cannot be decompressed"
            return self._closed(origin, Reason.ROBOTS_UNREADABLE, text)
        body = gunzip(bytes(response.body), MAX_BYTES + 1)
        # A cut rule could have another meaning: the beginning of "Disallow: /private/" is "Disallow: /".
        return body if len(body) <= MAX_BYTES and not cut else _whole_lines(body[:MAX_BYTES])

    def _stop(self, data: bytes, request: Request, **_: Any) -> None:
        """Stop the download (``StopDownload``) of a file that is long or slow. What was read is used."""
        if STOPS_KEY not in request.meta:
            return
        now = asyncio.get_running_loop().time()
        first, size = request.meta[STOPS_KEY]
        first, size = first or now, size + len(data)
        request.meta[STOPS_KEY] = first, size
        if size > MAX_BYTES or now - first > self._longest:
            raise StopDownload(fail=False)

    def _without_response(self, origin: str, error: Exception) -> Robots | None:
        cause, status = cause_of(error), status_of(error)
        # RFC 9309, 2.3.1.2: too many redirects mean no file
        if cause == Reason.REDIRECTS or (status is not None and 400 <= status < 500 and status != 429):
            return None
        if cause == Reason.TLS:
            return self._closed(origin, Reason.TLS, text_of(error))
        if cause in _NO_ANSWER:
            return self._closed(origin, Reason.ROBOTS_UNREACHABLE, f"{type(error).__name__}: {error}")
        return self._closed(origin, Reason.ROBOTS_UNREADABLE, f"{cause}: {text_of(error)}")

    def _closed(self, origin: str, fault: str, text: str) -> Robots:
        # RFC 9309, 2.3.1.4: an unreachable robots.txt means complete disallow
        self._context.count("robots/unreachable")
        return Robots(origin, self._context.clock() + KEEP_FAILED_SECONDS, text=text, fault=fault)

    def _set_pace(self, robots: Robots, request: Request) -> None:
        """Write the host's delay to the frontier: the rule's delay, or the Crawl-delay if it is longer."""
        wanted = None if robots.parser is None else robots.parser.crawl_delay(self.agent)
        rule = self._context.rule_for(request.url)
        self._politeness.set_pace(host_key(request.url), rule, min(float(wanted or 0.0), self.delay_cap))

    def _use(self, robots: Robots, rule: Rule, visit: Visit) -> None:
        """Add the sitemaps that robots.txt names to the links of the visit.

        This is done if the rule names no sources, or if ``follow`` includes sitemaps and the rule names no
        sitemap.
        """
        chosen = self._follow or rule.follow or ()
        if not rule.has_sources or ("sitemaps" in chosen and not rule.sitemaps):
            place = f"{robots.origin}/robots.txt"
            links = tuple(from_robots(robots.text, place))
            if links:
                visit.found.append(Found(links=links, referrer=place, depth=0, site=rule.domain))
