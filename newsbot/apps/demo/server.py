"""The server of the demo: an HTTP server and forward proxy on loopback, and the pages of all sites.

A client uses the server as its ``http_proxy`` and sends the whole URL in the request line. So any host name
works without DNS.

Some pages have a fault:

- ``error`` (500), ``busy`` (503), ``too-many`` (429, with Retry-After), ``broken`` (the response ends early)
  and ``hang-up`` (no response): these faults affect only the first request for a page.
- ``slow``: the response is late.
- ``latin-header`` and ``utf8-header``: the charset in Content-Type is wrong.
- ``year-9999``: the date of publication is in the year 9999.
- ``binary``: the body is not HTML, although the Content-Type is HTML.
- ``huge``: the body is larger than usual limits.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import ETag, web
from jinja2 import Environment, PackageLoader, StrictUndefined

from newsbot.apps.demo.publishing import (
    FRESH_DAYS,
    TRACKING,
    Article,
    Site,
    fill,
    load,
    load_sites,
    make_manifest,
    publish,
    without_tracking,
)

PER_PAGE = 15
"""Number of articles on a page of a section."""
ON_FRONT = 20
"""Number of articles on the front page."""
COPIES_ON_FRONT = 3
"""The front page of a site with the trait ``links-copies`` links to the copies of this number of articles."""
TRACKED = 3
"""Number of items in a feed whose links have tracking parameters."""
Link = tuple[str, Any]
"""URL of a link, and its text or the story that it shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """One response."""

    kind: str
    """The kind of the page for the server's log, for example ``article``, ``feed`` or ``redirect``."""
    make: Callable[[], bytes] = bytes
    """A function that returns the body. It is called at each request."""
    content_type: str = "text/html"
    status: int = 200
    location: str = ""
    modified: datetime | None = None
    fault: str = ""
    """Name of a fault, as described in :mod:`newsbot.apps.demo.server`."""
    gzip: bool = False


def make_environment() -> Environment:
    """Return the Jinja environment for the templates of this package."""
    loader = PackageLoader("newsbot.apps.demo")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals |= {"noise": noise, "months": {code: load(code)["months"] for code in ("en", "ru")}}
    environment.filters["rfc5322"] = format_datetime
    return environment


def noise(site: Site, page: str, count: int) -> list[Link]:
    """Return ``count`` links to pages that are not articles. A page always gets the same links."""
    # With a str as the seed, the result does not depend on PYTHONHASHSEED.
    rng = random.Random(site.name + page)  # noqa: S311  # the web must be the same in each run
    drawn = (fill("{link}", load("noise"), rng).partition("|") for _ in range(count))
    return [(href, text) for href, _, text in drawn]


class Pages:
    """All pages of one site. ``articles`` must be sorted, newest first."""

    def __init__(self, site: Site, articles: list[Article], now: datetime, templates: Environment) -> None:
        self.site = site
        self._now = now
        self._html: Any = templates.get_template("pages.html").module
        self._xml: Any = templates.get_template("sources.xml").module
        archive = "archive" in site.traits
        oldest = now - timedelta(days=FRESH_DAYS)
        self._fresh = [one for one in articles if not archive or one.published > oldest]
        self._old = articles[len(self._fresh) :]
        # Hidden articles are in no list. Only short links on the front page lead to them. The slice
        # [:-hidden] would be wrong, because it is empty if hidden is 0.
        self._listed = self._fresh[: len(self._fresh) - site.hidden]
        self._type = "text/html" + f"; charset={site.charset}" * ("undeclared" not in site.traits)
        self._topics = load(site.languages[0])["topics"] if site.section else {}
        self._menu = [(self._address(topic, 1), words["label"]) for topic, words in self._topics.items()]
        self._menu += [("/archive/", "Archive")] * archive
        parts = (self._sources, self._articles, self._redirects, self._odd, self._sections, self._archive)
        self._routes = {path: page for part in parts for path, page in part()}

    def answer(self, path: str) -> Page:
        """Return the response for a path with its query. An unknown path gets a 404."""
        kind = path.split("/")[1].partition("?")[0]
        if path.startswith(tuple(self.site.disallow)):
            kind = "forbidden"
        elif (page := self._routes.get(path)) is not None:
            return page
        elif kind not in load("noise")["kinds"]:
            return Page("missing", lambda: b"<h1>404</h1>", self._type, 404)
        # As on real sites, tags, searches and calendars have an endless number of pages. So these pages are
        # made from the path and are not stored.
        return Page(kind, self._html_of("noise_page", path), self._type)

    def _html_of(self, macro: str, title: str, *rest: object) -> Callable[[], bytes]:
        """Return a function that makes an HTML page with a macro of the template."""
        return self._made(getattr(self._html, macro), self.site.charset, self._menu, title, *rest)

    def _made(self, macro: Any, charset: str, *arguments: object) -> Callable[[], bytes]:
        return lambda: macro(self.site, *arguments).encode(charset, "xmlcharrefreplace")

    def _sources(self) -> Iterator[tuple[str, Page]]:
        """Yield robots.txt, feeds and sitemaps."""
        if "no-robots" not in self.site.traits:
            yield "/robots.txt", Page("robots", self._made(self._xml.robots, "utf-8"), "text/plain")
        for path, (kind, part, content_type) in self.site.sources.items():
            # ``part`` is a slice of the list in Python's notation: "::2" is every second article.
            articles = self._listed[slice(*(int(end) if end else None for end in part.split(":")))]
            rows = [
                (one.url + TRACKING * (at < TRACKED and "?" not in one.path), one)
                for at, one in enumerate(articles)
            ]
            charset = self.site.charset if kind == "rdf" else "utf-8"
            make = self._made(getattr(self._xml, kind), charset, rows, self._now)
            if path.endswith(".gz"):
                make = partial(_packed, make)
            yield path, Page("sitemap" if "sitemap" in kind else "feed", make, content_type)

    def _articles(self) -> Iterator[tuple[str, Page]]:
        """Yield the articles and their copies."""
        for index, article in enumerate([*self._fresh, *self._old]):
            others = [self._listed[(index + step) % len(self._listed)] for step in (1, 2, 3)]
            related = self._teasers([one for one in others if one is not article], article.path)
            make = self._html_of("article_page", article.story.title, article, related)
            for path in (article.path, *article.copies):
                kind, fault = ("copy", "") if path in article.copies else ("article", article.fault)
                if path.startswith(("/amp/", "/print/")):
                    make = self._made(self._html.bare, self.site.charset, article)
                yield path, Page(kind, make, self._type, modified=article.published, fault=fault)

    def _teasers(self, articles: Sequence[Article], page: str) -> list[Link]:
        return [(article.link(page), article.story) for article in articles]

    def _short_links(self) -> list[tuple[str, Article]]:
        # If there are hidden articles, the newest article has a short link too ([:True] is one article). The
        # lists also show this article, so the redirects lead to a known page.
        articles = [*self._fresh[len(self._listed) :], *self._fresh[: self.site.hidden > 0]]
        return [(f"/s/x{article.number:x}", article) for article in articles]

    def _redirects(self) -> Iterator[tuple[str, Page]]:
        """Yield the redirects from short links to articles, in three steps."""
        for path, article in self._short_links():
            chain = pairwise(
                (path, f"{self.site.base}/r/{article.number}", f"/r/{article.number}/", article.path)
            )
            for (start, target), status in zip(chain, (302, 301, 307), strict=True):
                # The target of the first redirect is a whole URL. The target of each further redirect is a
                # path. Real sites use both forms.
                yield start.removeprefix(self.site.base), Page("redirect", status=status, location=target)

    def _odd(self) -> Iterator[tuple[str, Page]]:
        """Yield pages that are not articles, although their URLs look like URLs of articles."""
        for path, fields in self.site.odd.items():
            yield path.format(at=self._now), Page(**fields)

    def _list(self, path: str, title: str, teasers: list[Link], more: Sequence[Link]) -> tuple[str, Page]:
        make = self._html_of("listing", title, path, teasers, more)
        return path, Page("section", make, self._type, modified=self._now)

    def _sections(self) -> Iterator[tuple[str, Page]]:
        """Yield the front page and the pages of the sections."""
        copied = self._listed[:COPIES_ON_FRONT] if "links-copies" in self.site.traits else []
        front = self._teasers(self._listed[:ON_FRONT], "/")
        front += [(path, article.story) for path, article in self._short_links()]
        front += [(path, article.story) for article in copied for path in article.copies]
        front += [(path.format(at=self._now), {"title": path, "summary": ""}) for path in self.site.odd]
        yield self._list("/", self.site.title, front, [])
        for topic, words in self._topics.items():
            mine = [article for article in self._listed if article.story.topic == topic]
            # -(-a // b) divides and rounds up. A section without articles has one empty page.
            count = max(1, -(-len(mine) // PER_PAGE))
            pages = [(self._address(topic, number), str(number)) for number in range(1, count + 1)]
            for index, (path, _) in enumerate(pages):
                teasers = self._teasers(mine[index * PER_PAGE : (index + 1) * PER_PAGE], path)
                yield self._list(path, words["label"], teasers, pages)

    def _address(self, topic: str, page: int) -> str:
        # On many sites, the URL of the first page of a section has another form than the URLs of its further
        # pages.
        return self.site.section[page > 1].format(topic=topic, page=page)

    def _archive(self) -> Iterator[tuple[str, Page]]:
        """Yield the pages of the archive: one for all years, and one for each year, month and day."""
        below: defaultdict[str, dict[str, str]] = defaultdict(dict)
        days: defaultdict[str, list[Article]] = defaultdict(list)
        for article in self._old:
            path = "/archive/"
            for part in f"{article.published:%Y/%m/%d}".split("/"):
                below[path][f"{path}{part}/"] = part
                path += f"{part}/"
            days[path].append(article)
        for path in {**below, **days}:
            yield self._list(path, path, self._teasers(days[path], path), sorted(below[path].items()))


def _packed(make: Callable[[], bytes]) -> bytes:
    return gzip.compress(make(), mtime=0)  # without a time, so that the bytes and the ETag stay the same


DEFAULT_ARTICLES = 300
SLOW_SECONDS = 1.0
THREAD_TIMEOUT = 10.0
"""Maximum number of seconds to wait for the thread of the server to start, and to end."""
_ONCE = {"error": 500, "busy": 503, "too-many": 429, "broken": 200, "hang-up": 0}
"""Status of the response, by name of the fault, for faults that affect only the first request."""
_CUT = frozenset({"broken", "hang-up"})
"""Faults after which the connection is closed."""
_CHARSETS = {"latin-header": "iso-8859-1", "utf8-header": "utf-8", "binary": "utf-8"}
_BINARY = b"%PDF-1.7\n" + bytes(range(256)) * 200
_ROW = b"<p>minute by minute</p>\n"
HUGE_ROWS = 500_000
"""Number of rows of a huge page (12 MB)."""
_RULES = """\
# Rules for the demo only: a server on loopback does not need delays between requests.
delay: 0
concurrency: 4
max_depth: 5
interval: {feed: 10m, sitemap: 10m, section: 10m, article: 30d, other: 30d}
"""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request in the log of the server."""

    at: float
    """Time of arrival in POSIX seconds."""
    method: str
    host: str
    path: str
    kind: str
    """The kind of the page (:class:`newsbot.apps.demo.server.Page`)."""
    status: int
    """Status of the response; 0 if the server sent no response on purpose."""
    whole: bool
    """False if the server broke the connection on purpose before the end of the response."""
    conditional: bool
    """True if the request had validators."""
    active: int
    """Number of requests to this host in progress, including this one."""
    user_agent: str | None


class DemoServer:
    """The demo on 127.0.0.1, served by a thread between ``__enter__`` and ``__exit__``.

    The rules for the demo's sites, and the manifest, are written into ``folder``. ``now`` is the current time
    of the demo's sites, with a time zone.
    """

    def __init__(self, folder: Path, *, articles: int = DEFAULT_ARTICLES, now: datetime) -> None:
        published = publish(articles, now)
        templates = make_environment()
        self._sites: dict[str, Pages] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "_defaults.yaml").write_text(_RULES, encoding="utf-8")
        for site in load_sites():
            mine = [article for article in published if article.site.name == site.name]
            self._sites[site.ascii] = Pages(site, mine, now, templates)
            rule = f"domain: {site.domain}\n{site.rule}"
            (folder / f"{site.domain}.yaml").write_text(rule, encoding="utf-8")
        self.rules = folder
        self.manifest = make_manifest(published, now)
        self.manifest.save(folder / "manifest.json")
        self.log: list[ServedRequest] = []
        """All requests, in the order of their responses. The thread of the server appends to it."""
        self.address = ""
        """URL of the server, ``http://127.0.0.1:PORT``, without a slash at the end."""
        self._tries: Counter[tuple[str, str]] = Counter()
        self._active: Counter[str] = Counter()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="demo", daemon=True)

    @property
    def crawl_environment(self) -> dict[str, str]:
        """Environment variables for a crawl of the demo. The caller must set NEWSBOT_DATA itself."""
        proxy = {"http_proxy": self.address, "https_proxy": self.address, "no_proxy": ""}
        return {**proxy, "NEWSBOT_RULES": str(self.rules)}

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(THREAD_TIMEOUT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(THREAD_TIMEOUT)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.address = "http://{}:{}".format(*runner.addresses[0])
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        host, path, arrived = request.url.raw_host or "", request.url.raw_path_qs, time.time()
        page = self._find(request.method, host, without_tracking(path))
        response = _response(request, page)
        self._active[host] += 1
        # A request that is not answered has the status 0 in the log.
        status, whole = response.status * (page.fault != "hang-up"), page.fault not in _CUT
        row = (arrived, request.method, host, path, page.kind, status, whole, bool(request.if_none_match))
        self.log.append(ServedRequest(*row, self._active[host], request.headers.get("User-Agent")))
        try:
            await _send(request, page, response)
        finally:
            self._active[host] -= 1
        return response

    def _find(self, method: str, host: str, path: str) -> Page:
        """Return the page for a request.

        A fault that affects only the first request is removed from the page for later requests.
        """
        if method == "CONNECT":
            return Page("tunnel", status=501)
        if (other := self._sites.get(f"www.{host}")) is not None:
            return Page("redirect", status=301, location=other.site.base + path)
        if (site := self._sites.get(host)) is None:
            return Page("elsewhere", status=502)
        page = site.answer(path)
        # Only requests for pages with such a fault are counted, so the counter stays small.
        self._tries[host, path] += page.fault in _ONCE
        fault = page.fault if self._tries[host, path] < 2 else ""
        return replace(page, fault=fault, gzip="gzip" in site.site.traits)


def this_hour() -> datetime:
    """Return the start of the current hour in UTC.

    The articles of the demo are from the two days before it.
    """
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _response(request: web.BaseRequest, page: Page) -> web.Response:
    """Return the response for a page, with faults of status, headers and body."""
    headers = {"Content-Type": page.content_type}
    if page.fault in _CHARSETS:
        headers["Content-Type"] = f"text/html; charset={_CHARSETS[page.fault]}"
    if page.fault in {"busy", "too-many"}:
        headers["Retry-After"] = "1"
    if page.location:
        headers["Location"] = page.location
    body = _BINARY if page.fault == "binary" else page.make()
    if page.fault == "broken":
        # The header has the length of the whole body, so the client can see that the response is incomplete.
        headers["Content-Length"], body = str(len(body)), body[: len(body) // 2]
    response = web.Response(status=_ONCE.get(page.fault) or page.status, body=body, headers=headers)
    if response.status == 200:
        etag = hashlib.sha256(body).hexdigest()[:20]
        if any(known.value == etag for known in request.if_none_match or ()):
            response = web.Response(status=304)
        response.etag, response.last_modified = ETag(etag), page.modified
    if page.fault == "huge":
        response.body = _ROW * HUGE_ROWS
        response.enable_chunked_encoding()
    # The header of a broken response has the length of the uncompressed body.
    if page.gzip and page.fault != "broken":
        response.enable_compression()
    return response


async def _send(request: web.BaseRequest, page: Page, response: web.Response) -> None:
    """Send the response, with faults of the connection."""
    await asyncio.sleep(SLOW_SECONDS * (page.fault == "slow"))
    if page.fault != "hang-up":
        await response.prepare(request)
        await response.write_eof()
    if page.fault in _CUT and request.transport is not None:
        request.transport.close()
