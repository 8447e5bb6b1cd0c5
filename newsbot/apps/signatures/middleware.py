"""Signs each request (Web Bot Auth). The setting NEWSBOT_SIGN_KEY switches it on."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request

from newsbot.apps.signatures.signing import Signer, open_signer
from newsbot.crawl.assembly import Crawl
from newsbot.middlewares import Middleware
from newsbot.urls import host_key


class SignaturesMiddleware(Middleware):
    """Adds the headers ``Signature-Agent``, ``Signature-Input`` and ``Signature``."""

    _signer: Signer

    def __init__(self, crawler: Crawler) -> None:
        signer = open_signer(crawler.settings)
        if signer is None:
            raise NotConfigured
        super().__init__(crawler)
        self._signer, self._clock = signer, Crawl.of(crawler).context.clock

    def process_request(self, request: Request) -> None:
        """Sign the request. A copy of a request, such as the next hop of a redirect, is signed again."""
        for name, value in self._signer.request_headers(host_key(request.url), self._clock()).items():
            request.headers[name] = value
