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
from newsbot.pages.rules.rule import Rule
from newsbot.urls import site_of

JAR_KEY = "cookies"
"""Request meta key: the jar of the chain of redirects."""
MAX_SITES = 1_000
"""Maximum number of sites whose cookies are kept."""
MAX_COOKIES = 50
"""Maximum number of cookies in a jar. RFC 6265 (6.1) recommends at least 50 for each domain."""
MAX_COOKIE = 4096
"""Maximum length of the name and value of a cookie."""


_GIVEN = "given"
"""Marks the cookies that a rule gives."""


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


def _cookie(name: str, value: str, domain: str, *, secure: bool) -> Cookie:
    """Return a cookie for all hosts of a domain."""
    return Cookie(
        version=0,
        name=name,
        value=value,
        port=None,
        port_specified=False,
        domain=f".{domain}",
        domain_specified=True,
        domain_initial_dot=True,
        path="/",
        path_specified=True,
        secure=secure,
        expires=None,
        discard=True,
        comment=None,
        comment_url=None,
        rest={_GIVEN: ""},
    )


class CookiesMiddleware(Middleware):
    """Stores the cookies of responses, and sends them with the next requests of the chain."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._credentials = crawl.context, crawl.credentials
        self._keeps_all = crawler.settings.getbool("COOKIES_ENABLED")
        self._jars = Bounded[str, tuple[object, CookieJar]](MAX_SITES)
        """The cookies of the rule and the jar of each site whose cookies are kept, by domain."""

    def process_request(self, request: Request) -> None:
        """Add the cookies of the chain or of the site."""
        rule = self._context.rule_for(request.url)
        if self._keeps_all or rule.cookies:
            request.meta[JAR_KEY] = self._jar_of(rule)
        if JAR_KEY in request.meta:
            request.headers.pop("Cookie", None)
            request.meta[JAR_KEY].add_cookie_header(request)

    def _jar_of(self, rule: Rule) -> CookieJar:
        """Return the jar of a site. A new jar has the cookies that the rule gives."""
        known = self._jars.get(rule.domain)
        if known is None or known[0] != rule.cookies:
            jar, credentials = new_jar(), self._credentials.of(rule)
            for name, value in credentials.cookies.items():
                jar.set_cookie(_cookie(name, value, rule.domain, secure=not credentials.plain_http))
            self._jars[rule.domain] = known = rule.cookies, jar
        return known[1]

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep the cookies of the response in the jar."""
        if "Set-Cookie" in response.headers:
            jar: CookieJar = request.meta.setdefault(JAR_KEY, new_jar())
            jar.extract_cookies(response, request)
            _renew(jar)
        return response


def _renew(jar: CookieJar) -> None:
    """Remove the cookies of the rule that the site has replaced. The site's may be for one host only."""
    names = {cookie.name for cookie in jar if not cookie.has_nonstandard_attr(_GIVEN)}
    for cookie in list(jar):
        if cookie.name in names and cookie.has_nonstandard_attr(_GIVEN):
            jar.clear(cookie.domain, cookie.path, cookie.name)
