"""Renders pages whose text is written by scripts (rule key ``render``, NEWSBOT_RENDER).

The page is downloaded like every other page, including redirects. Then it is passed to the browser
(:mod:`newsbot.apps.rendering.browser`). Each request of its scripts passes through all middlewares. So
robots.txt, the address guard, the delays, the checks of certificates, the proxy and the size limits apply to
it. Scripts are cached, because other pages of the site need the same scripts.

With NEWSBOT_RENDER=auto, the results of all workers decide whether the pages of a site are rendered. If a
page has more text after its scripts have run, rendering *helped*, or had a *gain*.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lxml.html import HtmlElement
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Request, Response

from newsbot.apps.rendering.browser import Answer, BrowserError, NoBrowserError, Part, Renderer
from newsbot.clock import DAY, Clock
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored, cause_of
from newsbot.crawl.visit import META_KEY, PART_KEY, RENDERED, RULE_KEY, Visit
from newsbot.errors import NotAnArticle
from newsbot.items import Bounded, Kind, Reason
from newsbot.middlewares import Middleware, tree_of
from newsbot.pages.extraction import made_by_scripts
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import parse_max_age
from newsbot.sites.rights import headers_of
from newsbot.storage.notes import Notes, SharedSites
from newsbot.urls import host_key, site_of

logger = logging.getLogger(__name__)

MAX_PART = 5 * 2**20
"""Maximum size in bytes of a response to a script's request."""
MAX_PARTS = 20 * 2**20
"""Maximum total size in bytes of the responses to a page's scripts. When it is reached, further requests are
refused."""
MAX_SCRIPTS = 10_000
"""Maximum number of cached scripts."""
MAX_KEPT = 48 * 2**20
"""Maximum number of bytes of all cached scripts together."""
KEEP_SECONDS = 3600.0
"""Maximum number of seconds for which a script is cached. A script is cached for this time if its response
states no time."""
CONTENT_TYPE = "text/html; charset=utf-8"
# These headers describe the page as it was downloaded, so they are removed from the rendered page.
_VALIDATORS = ("ETag", "Last-Modified")


class RenderingMiddleware(Middleware):
    """Replaces a downloaded page by the page after its scripts have run, if a rule or a setting says so."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals, self._trials = crawl.context, crawl.removals, RenderTrials()
        settings = crawler.settings
        self._mode = settings.get("NEWSBOT_RENDER")
        self._renderer = Renderer(
            settings.get("NEWSBOT_BROWSER"),
            settings.get("USER_AGENT"),
            settings.getfloat("NEWSBOT_RENDER_SECONDS"),
        )
        self._scripts = _Scripts()
        self._reported = False
        """True once it was logged that the browser does not start."""
        crawler.signals.connect(self._close, signals.spider_closed)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the rendered page if the rule or the setting asks for rendering, else the response.

        Raises :class:`Ignored` with the token ``render`` if the page cannot be rendered, and with ``ours`` if
        the browser does not start. The page is then tried again later.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        rule: Rule | None = request.meta.get(RULE_KEY) if visit is None else visit.rule
        if (
            # The rule's key ``render`` overrides the setting. Without this key, only the mode "auto" renders.
            rule is None
            or self._mode == "off"
            or (rule.render is None and self._mode != "auto")
            or rule.render is False
            or (visit is not None and visit.kind.is_listing)
            or not isinstance(response, HtmlResponse)
            or (request.method, response.status) != ("GET", 200)
        ):
            return response
        of_list = visit is not None and visit.kind is Kind.SECTION
        if rule.render:
            return await self._rendered(request, response, of_list)
        return await self._try(request, response, rule.domain, of_list)

    async def _try(self, request: Request, response: Response, domain: str, of_list: bool) -> Response:
        """Render a page if this may add text, and record whether it did. Return the better response."""
        now, notes, run = self._context.clock(), self._context.notes, self._context.calls.run
        with self._context.timed("render_sign"):
            tree = _tree(response)
        if tree is None or not made_by_scripts(tree, of_list=of_list):
            return response
        if not await run(self._trials.may_try, notes, domain, now):
            self._context.count("render/left")
            return response
        try:
            rendered = await self._rendered(request, response, of_list)
        except Ignored as error:
            if error.cause == Reason.OURS or await run(self._trials.helped, notes, domain):
                raise  # rendering has added text on this site, so the page is not complete without it
            await run(self._saw, domain, now, helped=False)
            return response
        after = _tree(rendered)
        helped = after is not None and not made_by_scripts(after, of_list=of_list)
        await run(self._saw, domain, now, helped=helped)
        self._context.count("render/helped" if helped else "render/vain")
        return rendered if helped else response

    def _saw(self, domain: str, now: float, *, helped: bool) -> None:
        """Record a result, and share it with other workers at once: a page takes seconds to render."""
        notes = self._context.notes
        self._trials.saw(notes, domain, now, helped=helped)
        self._trials.write(notes, self._removals.covers_site)

    async def _rendered(self, request: Request, response: Response, of_list: bool) -> Response:
        content_type = (response.headers.get("Content-Type") or b"text/html").decode("latin-1")

        left = MAX_PARTS

        # The scripts of a page download several parts at the same time, so the sum may exceed the limit a
        # little.
        async def ask(part: Part) -> Answer | None:
            nonlocal left
            answer = await self._ask(part, response.url) if left > 0 else None
            left -= len(answer.body) if answer is not None else 0
            return answer

        self._context.count("render/pages")
        try:
            with self._context.timed("render"):
                markup, in_time = await self._renderer.render(response.url, content_type, response.body, ask)
        except BrowserError as error:
            self._context.count("render/failed")
            if not isinstance(error, NoBrowserError):
                raise Ignored(Reason.RENDER, str(error)) from error
            if not self._reported:
                logger.error("cannot render url=%s fault=%s", response.url, error)
            self._reported = True
            raise Ignored(Reason.OURS, str(error)) from error
        headers = response.headers.copy()
        for name in _VALIDATORS:
            headers.pop(name, None)
        headers["Content-Type"] = CONTENT_TYPE
        rendered = HtmlResponse(
            response.url,
            headers=headers,
            # Strings of scripts may have half of a surrogate pair, which UTF-8 cannot encode.
            body=markup.encode("utf-8", "replace"),
            encoding="utf-8",
            request=response.request,
            flags=[*response.flags, RENDERED],
            certificate=response.certificate,
            ip_address=response.ip_address,
            protocol=response.protocol,
        )
        # The scripts of some pages never end, for example because of advertisements. If the page has its text
        # at the time limit, it is complete enough.
        if not in_time and ((tree := _tree(rendered)) is None or made_by_scripts(tree, of_list=of_list)):
            self._context.count("render/late")
            raise Ignored(Reason.RENDER, "no text within the time limit (NEWSBOT_RENDER_SECONDS)")
        return rendered

    async def _ask(self, part: Part, page: str) -> Answer | None:
        """Download a part for a script of ``page``. Return None if this failed or is not allowed."""
        if part.method not in ("GET", "HEAD", "POST"):
            return None
        if part.method == "POST" and site_of(host_key(part.url)) != site_of(host_key(page)):
            return None  # POST requests to other sites report to trackers and do not change the text
        if not part.lasting:
            return await self._download(part, page)
        return await self._scripts.get(part.url, lambda: self._download(part, page), self._context.clock)

    async def _download(self, part: Part, page: str) -> Answer | None:
        self._context.count("render/requests")
        try:
            response = await self.download(
                part.url,
                method=part.method,
                headers=part.headers,
                body=part.body,
                meta={PART_KEY: page, "download_maxsize": MAX_PART},
            )
        except Exception as error:  # noqa: BLE001  (after any failure, the page is rendered without it)
            self._context.count(f"render/refused/{cause_of(error)}")
            return None
        self._context.count("render/bytes", len(response.body))
        headers = {name: ", ".join(values) for name, values in headers_of(response).items()}
        return Answer(response.status, headers, response.body)

    async def _close(self) -> None:
        await self._renderer.close()


class _Scripts:
    """A cache of scripts by URL for all pages. The least recently used script is dropped first.

    If several pages request a script at the same time, it is downloaded only once.
    """

    def __init__(self) -> None:
        self._kept = Bounded[str, tuple[float, Answer]](MAX_SCRIPTS)
        """Scripts by URL, each with the time until which it may be used (POSIX seconds)."""
        self._asked: dict[str, asyncio.Future[Answer | None]] = {}

    async def get(
        self, url: str, download: Callable[[], Awaitable[Answer | None]], clock: Clock
    ) -> Answer | None:
        """Return a script from the cache, or download it."""
        until, answer = self._kept.get(url, (0.0, None))
        if answer is not None and clock() < until:
            self._kept.move_to_end(url)
            return answer
        if url not in self._asked:
            task = self._asked[url] = asyncio.ensure_future(download())
            task.add_done_callback(lambda _: self._asked.pop(url, None))
        # Several pages may wait for this task. If one is closed, shield() keeps the task running.
        script = await asyncio.shield(self._asked[url])
        if script is not None and script.status == 200:
            fresh = parse_max_age(script.headers.get("cache-control"))
            self._keep(url, script, clock() + (KEEP_SECONDS if fresh is None else min(fresh, KEEP_SECONDS)))
        return script

    def _keep(self, url: str, answer: Answer, until: float) -> None:
        self._kept[url] = until, answer
        self._kept.shrink(MAX_KEPT, lambda one: len(one[1].body))


def _tree(response: Response) -> HtmlElement | None:
    """Return the parsed tree of a page, or None if the page is not HTML."""
    try:
        return tree_of(response)
    except NotAnArticle:
        return None


# --- results of rendering
KIND = "rendering"
TRIES = 3
"""Number of consecutive pages without a gain after which a site's pages are no longer rendered."""
REST = 30 * DAY
"""Seconds after which another page of such a site is rendered as a test."""
MAX_SITES = 20_000
"""Maximum number of sites that are kept in memory."""


@dataclass(slots=True)
class _Tries:
    helped: int = 0
    """Number of rendered pages with a gain."""
    vain: int = 0
    """Number of rendered pages without a gain since the last page with a gain."""
    at: float = 0.0
    """Time of the last result, POSIX seconds."""

    def saw(self, result: tuple[bool, float]) -> None:
        """Add a result: a pair of True if rendering helped, and the time in POSIX seconds."""
        helped, at = result
        self.helped += helped
        self.vain = 0 if helped else self.vain + 1
        self.at = max(self.at, at)

    def plain(self) -> dict[str, Any]:
        return {"helped": self.helped, "vain": self.vain, "at": round(self.at)}


def _tries(note: dict[str, Any]) -> _Tries:
    """Return the results in a note. The result is empty if the note is invalid."""
    try:
        return _Tries(int(note["helped"]), int(note["vain"]), float(note["at"]))
    except (KeyError, TypeError, ValueError):
        return _Tries()


class RenderTrials(SharedSites[_Tries, tuple[bool, float]]):
    """The results of rendering for all sites of one crawl."""

    def __init__(self) -> None:
        super().__init__(KIND, _tries, _Tries.saw, _Tries.plain, most=MAX_SITES)

    def helped(self, storage: Notes, domain: str) -> bool:
        """Return True if rendering has helped on a site, and at least one of its last pages had a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self.of(storage, domain)
        return known.helped > 0 and known.vain < TRIES

    def may_try(self, storage: Notes, domain: str, now: float) -> bool:
        """Return True if another page of a site may be rendered.

        The result is False for :data:`REST` seconds after :data:`TRIES` consecutive pages without a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self.of(storage, domain)
        return known.vain < TRIES or now - known.at > REST

    def saw(self, storage: Notes, domain: str, now: float, *, helped: bool) -> None:
        """Add the result of a rendered page. Raises :class:`newsbot.errors.DataError`."""
        self.add(storage, domain, (helped, now))
