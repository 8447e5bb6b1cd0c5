"""Refuses requests to private addresses that a page names, and to schemes other than http and https.

Addresses written as numbers are judged here (after WHATWG parsing, so that 0x7f.1 is 127.0.0.1); names
are judged where they are resolved (:mod:`newsbot.crawl.address_guard`). Behind a proxy names are the proxy's.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.http import Request

from newsbot.crawl.address_guard import is_local
from newsbot.crawl.failures import Ignored
from newsbot.items import Reason
from newsbot.urls import canonicalize


class AddressGuardMiddleware:
    """See the module's text; NEWSBOT_ALLOW_PRIVATE switches it off."""

    def __init__(self, allow_private: bool) -> None:
        self.allow_private = allow_private

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AddressGuardMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler.settings.getbool("NEWSBOT_ALLOW_PRIVATE"))

    def process_request(self, request: Request) -> None:
        """Raise :class:`Ignored` (``private_address``, ``bad_url``) for what must not be fetched."""
        try:
            host = urlsplit(canonicalize(request.url)).hostname or ""
        except ValueError as error:
            raise Ignored(Reason.BAD_URL, str(error)) from error
        if not self.allow_private and is_local(host):
            raise Ignored(
                Reason.PRIVATE_ADDRESS, f"{host} is no public address (setting NEWSBOT_ALLOW_PRIVATE)"
            )
