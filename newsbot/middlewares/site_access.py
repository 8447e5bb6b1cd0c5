"""Adds what the rule of a site gives to its requests: user agent, languages, headers, password, proxy.

Each request of a chain of redirects gets what the rule of its own host gives, so that no other site gets the
secrets. Requests for robots.txt always have newsbot's own user agent, so that the site knows whom it answers.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.http import Request

from newsbot.crawl import address_guard
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import GIVEN_KEY
from newsbot.errors import ArgumentError
from newsbot.items import Reason
from newsbot.middlewares import Middleware
from newsbot.pages.rules.rule import Rule


class SiteAccessMiddleware(Middleware):
    """Adds headers and the proxy to requests."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._credentials = crawl.context, crawl.credentials

    def process_request(self, request: Request) -> None:
        """Add the headers. Raises :class:`Ignored` (``credentials``) if a secret is missing."""
        rule = self._context.rule_for(request.url)
        _forget(request)
        given = _plain(rule, request)
        try:
            credentials = self._credentials.of(rule)
        except ArgumentError as error:
            raise Ignored(Reason.CREDENTIALS, str(error)) from error
        if credentials.are_for(request.url):
            given |= credentials.headers
        if credentials.proxy:
            request.meta["proxy"] = credentials.proxy
            address_guard.proxies.add(urlsplit(credentials.proxy).hostname or "")
        for name, value in given.items():
            request.headers[name] = value
        if given or credentials.proxy:
            request.meta[GIVEN_KEY] = (*given, "Proxy-Authorization")


def _forget(request: Request) -> None:
    """Remove what the rule of the previous hop has given."""
    given = request.meta.pop(GIVEN_KEY, ())
    for name in given:
        request.headers.pop(name, None)
    if given:
        request.meta.pop("proxy", None)
        request.meta.pop("_auth_proxy", None)


def _plain(rule: Rule, request: Request) -> dict[str, str]:
    """Return the headers that are not secret."""
    languages = rule.accept_language or (f"{rule.language}, en;q=0.5" if rule.language else "")
    given = {"Accept-Language": languages} if languages else {}
    if rule.user_agent and "dont_obey_robotstxt" not in request.meta:
        given["User-Agent"] = rule.user_agent
    return given
