"""The middlewares of newsbot, in the order in which a request passes them.

* ``reprocessing``: refuses pages before their interval has passed; sends conditional requests
* ``addresses``: refuses private addresses
* ``robots``, ``tdmrep``: robots.txt and tdmrep.json of the site
* ``politeness``: pauses hosts that answer 429 or 503 or do not answer
* ``compression``, ``redirects``: decompress responses, follow redirects within the visit
* ``site_access``: adds what the rule of the site gives
* ``cookies``: keeps cookies within a chain of redirects
* ``links``: collects the links that a spider yields
"""

from __future__ import annotations

from typing import Any

from lxml.html import HtmlElement
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK
from w3lib.encoding import http_content_type_encoding

from newsbot.crawl.assembly import Component
from newsbot.pages.extraction import parse_html
from newsbot.recrawl.planning import parse_retry_after

SLOW_DOWN = (429, 503)
"""Statuses with which a host asks for fewer requests."""
MAX_RETRY_AFTER = 24 * 3600.0
"""Maximum length of a pause that the header Retry-After sets, in seconds."""


class Middleware(Component):
    """The base of the middlewares."""

    async def download(self, url: str, **request: Any) -> Response:
        """Download a URL through all middlewares. ``request``: further arguments of :class:`Request`."""
        assert self.crawler.engine is not None
        return await self.crawler.engine.download_async(Request(url, callback=NO_CALLBACK, **request))


def retry_after(response: Response, now: float) -> float | None:
    """Return the seconds for which a host asks to be left alone; None if its response does not ask."""
    if response.status not in SLOW_DOWN:
        return None
    asked = parse_retry_after((response.headers.get("Retry-After") or b"").decode("latin-1"), now)
    return None if asked is None else min(asked, MAX_RETRY_AFTER)


def content_type_of(response: Response) -> str:
    """Return the Content-Type of a response; empty if it has none."""
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def tree_of(response: Response) -> HtmlElement:
    """Return the parsed tree of a page. Raises :class:`newsbot.errors.NotAnArticle` if it cannot be parsed.

    The function may run in any thread.
    """
    return parse_html(response.body, http_content_type_encoding(content_type_of(response)))
