"""Renders pages whose text is written by scripts, in a headless Chromium that Playwright controls.

The rule key ``render`` or NEWSBOT_RENDER says which. The browser itself has no network access. It gets the
page as the crawl downloaded it. If a script makes a request, a function downloads the response with the
crawl's politeness and address guard. Each page is opened in a separate browser context, which is closed with
the page.

The page is downloaded like every other page, including redirects. Then it is passed to the browser. Each
request of its scripts passes through all middlewares. So robots.txt, the address guard, the delays, the
checks of certificates, the proxy and the size limits apply to it. Scripts are cached, because other pages of
the site need the same scripts.

With NEWSBOT_RENDER=auto, the results of all workers decide whether the pages of a site are rendered. If a
page has more text after its scripts have run, rendering *helped*, or had a *gain*.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lxml.html import HtmlElement
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Request, Response

from newsbot.clock import DAY, Clock
from newsbot.config.settings import SettingsLike, value_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored, cause_of
from newsbot.crawl.visit import META_KEY, PART_KEY, RENDERED, RULE_KEY, Visit
from newsbot.errors import ArgumentError, NotAnArticle
from newsbot.items import Bounded, Kind, Reason
from newsbot.middlewares import Middleware, tree_of
from newsbot.pages.extraction import made_by_scripts
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import parse_max_age
from newsbot.sites.rights import headers_of
from newsbot.storage.notes import Notes, SharedSites
from newsbot.urls import host_key, site_of

if TYPE_CHECKING:
    from playwright.async_api import (
        Browser,
        BrowserContext,
        Page,
        Playwright,
        Route,
    )
    from playwright.async_api import (
        Request as ScriptRequest,
    )

logger = logging.getLogger(__name__)


MAX_OPEN = 4
"""Maximum number of open pages per worker."""
PAGES_EACH = 200
"""A new browser is started after this number of pages, to free the memory that the old browser leaks."""
MAX_REQUESTS = 60
"""Maximum number of requests that the scripts of one page may make."""
MAX_MARKUP = 5_000_000
"""Maximum number of characters that are read from a rendered page."""
QUIET = 500
"""A page counts as complete after this number of milliseconds without a request."""
START_SECONDS = 60.0
"""Seconds to wait for the start of the browser."""
READ_SECONDS = 10.0
"""Seconds to wait for the markup of a page. Without a limit, a script that does not end would block the
renderer."""
CLOSE_SECONDS = 10.0
"""Seconds to wait for the end of a page or of the browser."""

MISSING = "rendering needs Playwright; run: pip install playwright"

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Playwright intercepts only HTTP requests. To block all other access (WebSockets, prefetched names, WebRTC),
# the browser gets a proxy and a resolver that do not work.
_NO_NETWORK = (
    "--proxy-server=http://none.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_SWITCHES = (
    *_NO_NETWORK,
    "--js-flags=--max-old-space-size=256",
    "--disable-dev-shm-usage",
)
_FETCHED = ("script", "xhr", "fetch")
"""Types of requests that are downloaded. Images, fonts and media add no text."""
_OWN_HEADERS = ("cookie", "host", "user-agent", "referer", "accept-encoding", "content-length", "connection")
_NOT_PASSED_ON = ("content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie")


_MARKUP = f"document.documentElement.outerHTML.slice(0, {MAX_MARKUP})"
_MOMENT = f"new Promise(end => setTimeout(end, {QUIET}))"


@dataclass(frozen=True, slots=True)
class Part:
    """A request of the page for a script file, or a request that one of its scripts makes."""

    url: str
    method: str
    headers: dict[str, str]
    body: bytes
    lasting: bool
    """True for a script file. Other pages of the site may need the same file, so it is worth caching."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a :class:`Part`."""

    status: int
    headers: dict[str, str]
    body: bytes


Ask = Callable[[Part], Awaitable[Answer | None]]
"""Downloads a part. The result is None if the download failed or is not allowed."""


class BrowserError(Exception):
    """A page could not be rendered: the browser crashed twice, or a script of the page does not end."""


class NoBrowserError(BrowserError):
    """The browser does not start. This is not a fault of the page."""


def find_browser(path: str) -> str:
    """Return the path of the browser: ``path`` if it is given, else an installed Chromium.

    Raises :class:`newsbot.errors.ArgumentError`, whose message says what to install.
    """
    if importlib.util.find_spec("playwright") is None:
        raise ArgumentError(MISSING)
    if path:
        if shutil.which(path) is None:
            raise ArgumentError(f"NEWSBOT_BROWSER={path}: is not a program")
        return path
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise ArgumentError(
            "pages cannot be rendered, because no browser was found: apt-get install chromium, or set "
            "NEWSBOT_BROWSER"
        )
    return found


class Renderer:
    """Renders pages in one browser at a time. The browser is started when the first page needs it."""

    def __init__(self, path: str, user_agent: str, seconds: float) -> None:
        """``path``: as in :func:`find_browser`. ``seconds``: the time limit for each page."""
        self._path, self._user_agent, self._seconds = path, user_agent, seconds
        self._room = asyncio.Semaphore(MAX_OPEN)
        self._starting = asyncio.Lock()
        self._running: _Running | None = None

    async def render(self, url: str, content_type: str, body: bytes, ask: Ask) -> tuple[str, bool]:
        """Return the markup of a page after its scripts have run, and True if the scripts ended in time.

        ``body`` is the page as it was downloaded. ``ask`` downloads what the scripts request. After a crash
        the page is tried once more in a new browser. Raises :class:`BrowserError`.
        """
        async with self._room:
            for attempt in (1, 2):
                running = await self._take()
                try:
                    return await self._open(running, _Traffic(url, content_type, body, ask, running.error))
                except _Crash as error:
                    running.over = True
                    # Other pages may still be open in this browser. They are rendered to the end, but the
                    # browser gets no new pages.
                    if attempt == 2:
                        raise BrowserError(str(error)) from error
                finally:
                    await running.leave()
        raise AssertionError

    async def close(self) -> None:
        """Close the browser."""
        if self._running is not None:
            await self._running.close()

    async def _take(self) -> _Running:
        """Return a usable browser and count one more open page in it. Starts a new one if needed."""
        async with self._starting:
            # A browser that is no longer usable may still have open pages. It is closed with the last page.
            if self._running is None or not self._running.usable:
                if self._running is not None and not self._running.open:
                    await self._running.close()
                self._running = await self._start()
            self._running.open += 1
            self._running.pages += 1
            return self._running

    async def _start(self) -> _Running:
        try:
            library = importlib.import_module("playwright.async_api")
            driver = await library.async_playwright().start()
        except (ImportError, OSError) as error:
            raise NoBrowserError(f"{MISSING} ({error})") from error
        try:
            browser = await driver.chromium.launch(
                executable_path=find_browser(self._path),
                args=list(_SWITCHES),
                ignore_default_args=["--disable-popup-blocking"],
                chromium_sandbox=os.geteuid() != 0,  # Chromium's sandbox does not work for root
                handle_sigint=False,  # Ctrl-C ends the crawl, and the crawl ends the browser
                timeout=1000 * START_SECONDS,
            )
        except (library.Error, ArgumentError) as error:
            await driver.stop()
            raise NoBrowserError(f"the browser does not start: {str(error).strip()[:500]}") from error
        return _Running(driver, browser, library.Error)

    async def _open(self, running: _Running, traffic: _Traffic) -> tuple[str, bool]:
        try:
            # Service workers are blocked, because Playwright cannot intercept their requests.
            context = await running.browser.new_context(
                user_agent=self._user_agent, service_workers="block", accept_downloads=False
            )
        except running.error as error:
            raise _Crash(_first_line(error)) from error
        try:
            return await self._read(running, context, traffic)
        except running.error as error:
            raise _Crash(_first_line(error)) from error
        finally:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await context.close()
            except (running.error, TimeoutError):
                # A context that cannot be closed keeps its memory, so the browser is replaced.
                running.over = True

    async def _read(self, running: _Running, context: BrowserContext, traffic: _Traffic) -> tuple[str, bool]:
        await context.route("**/*", traffic.answer)
        page = await context.new_page()
        crashed = asyncio.Event()
        page.on("crash", lambda _: crashed.set())
        in_time = True
        try:
            async with asyncio.timeout(self._seconds):
                # timeout=0 switches off Playwright's limit; the limit above also covers _quiet()
                await page.goto(traffic.url, wait_until="load", timeout=0)
                await _quiet(page, traffic)
        except TimeoutError:
            in_time = False
        # A script that navigates away interrupts the loading and causes this error. The navigation is
        # refused, and the page stays open, so its markup can be read.
        except running.error:
            if page.is_closed() or crashed.is_set() or not running.browser.is_connected():
                raise
        finally:
            traffic.end()
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await _evaluate(page, _MARKUP), in_time
        except TimeoutError as error:
            running.over = True
            raise BrowserError("a script of the page does not end") from error


class _Crash(Exception):
    """The browser or one of its pages has crashed, or does not answer."""


class _Running:
    """A started browser. It is closed when it is no longer usable and its last page was read."""

    def __init__(self, driver: Playwright, browser: Browser, error: type[Exception]) -> None:
        self._driver, self.browser, self.error = driver, browser, error
        self.open = self.pages = 0
        self.over = False
        self._closed = False

    @property
    def usable(self) -> bool:
        return not self.over and self.pages < PAGES_EACH and self.browser.is_connected()

    async def leave(self) -> None:
        self.open -= 1
        if not self.usable and not self.open:
            await self.close()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for end in (self.browser.close, self._driver.stop):
            with suppress(Exception):  # the browser may have crashed, and is not needed any more
                async with asyncio.timeout(CLOSE_SECONDS):
                    await end()


class _Traffic:
    """The requests of one page, and their answers."""

    def __init__(self, url: str, content_type: str, body: bytes, ask: Ask, error: type[Exception]) -> None:
        self.url, self._content_type, self._body, self._ask = url, content_type, body, ask
        self._error = error
        self._tasks: set[asyncio.Future[Answer | None]] | None = set()
        """The downloads in progress; None after :meth:`end`, when nothing more is downloaded."""
        self._given = False
        self._seen = self._asked = self._in_flight = 0

    async def answer(self, route: Route, request: ScriptRequest) -> None:
        """Answer one request of the browser. Playwright calls this for each request of the page."""
        self._seen += 1
        self._in_flight += 1
        try:
            await self._answer(route, request)
        except self._error:
            pass  # the page is closed, so the answer is not needed
        finally:
            self._in_flight -= 1

    async def _answer(self, route: Route, request: ScriptRequest) -> None:
        kind = request.resource_type
        if request.is_navigation_request():
            if self._given:
                await route.abort("aborted")  # a frame, or a script that navigates away; the page stays open
            else:
                self._given = True
                await route.fulfill(headers={"content-type": self._content_type}, body=self._body)
        elif kind == "stylesheet":
            await route.fulfill(content_type="text/css", body="")  # some scripts wait for stylesheets
        elif kind in _FETCHED and self._asked < MAX_REQUESTS and self._tasks is not None:
            self._asked += 1
            headers = {name: value for name, value in request.headers.items() if _is_passed(name)}
            body = request.post_data_buffer or b""
            part = Part(request.url, request.method, headers, body, lasting=kind == "script")
            task = asyncio.ensure_future(self._ask(part))
            self._tasks.add(task)
            # wait() does not raise an error if end() cancels the task. The request is then refused.
            await asyncio.wait([task])
            answer = None if task.cancelled() else task.result()
            if answer is None:
                await route.abort()
            else:
                kept = {name: value for name, value in answer.headers.items() if name not in _NOT_PASSED_ON}
                # Scripts may read responses of other origins (CORS, Fetch 3.2). There is nothing to protect,
                # because no cookies are sent and private hosts are refused.
                kept["access-control-allow-origin"] = request.headers.get("origin", "*")
                kept["access-control-allow-credentials"] = "true"
                await route.fulfill(status=answer.status, headers=kept, body=answer.body)
        else:
            await route.abort()

    def end(self) -> None:
        """Cancel the downloads in progress and start no new ones."""
        tasks, self._tasks = self._tasks or (), None
        for task in tasks:
            task.cancel()

    @property
    def state(self) -> tuple[int, int]:
        """The number of requests, and the number of requests without an answer."""
        return self._seen, self._in_flight


async def _quiet(page: Page, traffic: _Traffic) -> None:
    """Wait until the page has made no request for :data:`QUIET` milliseconds.

    The page's own timer measures this time, because the timers of a busy page run late.
    """
    before = None
    # The page is quiet if no request was made during the last pause, and every request has an answer.
    while before is None or traffic.state != before or traffic.state[1]:
        before = traffic.state
        await _evaluate(page, _MOMENT)


def _is_passed(name: str) -> bool:
    return name not in _OWN_HEADERS and not name.startswith(("sec-", ":"))


async def _evaluate(page: Page, expression: str) -> str:
    """Evaluate an expression in an isolated world of the page and return the result as text.

    Scripts of the page may have replaced built-in functions; they cannot reach the isolated world.
    """
    session: Any = await page.context.new_cdp_session(page)
    tree = await session.send("Page.getFrameTree")
    frame = tree["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
    result = await session.send(
        "Runtime.evaluate",
        {
            "contextId": world["executionContextId"],
            "expression": expression,
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    return str(result["result"].get("value") or "")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]


def check(settings: SettingsLike, rules: Iterable[Rule]) -> None:
    """Raise :class:`ArgumentError` if the settings or a rule require a browser, and it is missing."""
    mode = value_of(settings, "NEWSBOT_RENDER")
    asking = next((rule for rule in rules if rule.render), None)
    if mode == "auto" or (mode == "rules" and asking is not None):
        try:
            find_browser(value_of(settings, "NEWSBOT_BROWSER"))
        except ArgumentError as error:
            asks = "NEWSBOT_RENDER=auto" if asking is None else f"{asking.file}, render: true"
            raise ArgumentError(f"{asks}: {error}") from error


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
