"""Keeps cookies within one chain of redirects, and during the crawl for sites with cookies in their rules.

Many sites answer the first request with a cookie and a redirect to the same address, and give the page only
to a request with this cookie. A chain of redirects therefore has a jar (RFC 6265), which is dropped with the
page. The next page begins without cookies, so that a site cannot recognise it. The rule key ``cookies`` and
the setting COOKIES_ENABLED keep the jar of a site as long as the crawl runs.
"""

from __future__ import annotations

from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from scrapy.http.cookies import CookieJar

from newsbot.crawl.assembly import Crawl
from newsbot.items import Bounded
from newsbot.middlewares import Middleware
from newsbot.urls import site_of

JAR_KEY = "cookies"
"""Request meta key: the jar of the chain of redirects."""
MAX_SITES = 1_000
"""Maximum number of sites whose cookies are kept."""
MAX_COOKIES = 50
"""Maximum number of cookies in a jar. RFC 6265 (6.1) recommends at least 50 for each domain."""
MAX_COOKIE = 4096
"""Maximum length of the name and value of a cookie."""


class _Policy(DefaultCookiePolicy):
    """Accepts cookies as browsers do: none for a public suffix, and a limited number of limited length."""

    jar: CookieJar

    def set_ok(self, cookie: Cookie, request: Any) -> bool:
        """Return True if the cookie is kept."""
        is_shared = cookie.domain_specified and site_of(cookie.domain.lstrip(".")) != site_of(request.host)
        is_long = len(cookie.name) + len(cookie.value or "") > MAX_COOKIE
        is_full = len(self.jar) >= MAX_COOKIES
        return super().set_ok(cookie, request) and not (is_shared or is_long or is_full)


def new_jar() -> CookieJar:
    """Return an empty jar."""
    policy = _Policy()
    policy.jar = jar = CookieJar(policy)
    return jar


def cookies_for(request: Request) -> bytes:
    """Return the cookies that would be sent with a request of a chain, as the value of its header."""
    jar: CookieJar | None = request.meta.get(JAR_KEY)
    if jar is None:
        return b""
    sent = Request(request.url)
    jar.add_cookie_header(sent)
    return sent.headers.get("Cookie") or b""


class CookiesMiddleware(Middleware):
    """Stores the cookies of responses, and sends them with the next requests of the chain."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._context = Crawl.of(crawler).context
        self._keeps_all = crawler.settings.getbool("COOKIES_ENABLED")
        self._jars = Bounded[str, CookieJar](MAX_SITES)
        """The jars of sites that are kept, by the domain of the rule."""

    def process_request(self, request: Request) -> None:
        """Add the cookies of the chain or of the site."""
        rule = self._context.rule_for(request.url)
        if self._keeps_all:
            request.meta.setdefault(JAR_KEY, self._jars.setdefault(rule.domain, new_jar()))
        if JAR_KEY in request.meta:
            request.headers.pop("Cookie", None)
            request.meta[JAR_KEY].add_cookie_header(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep the cookies of the response in the jar."""
        if "Set-Cookie" in response.headers:
            request.meta.setdefault(JAR_KEY, new_jar()).extract_cookies(response, request)
        return response
