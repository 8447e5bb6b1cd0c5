"""The server of the demo: an HTTP server and forward proxy on loopback for all sites.

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
import hashlib
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import ETag, web

from newsbot.apps.demo.pages import Page, Pages, make_environment
from newsbot.apps.demo.publishing import load_sites, make_manifest, publish, without_tracking

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
    """The kind of the page (:class:`newsbot.apps.demo.pages.Page`)."""
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
