"""Follows redirects within one visit. The lease is kept. Known targets are not fetched again."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import redirect
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from w3lib.encoding import http_content_type_encoding

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import Context
from newsbot.crawl.entries import without_user
from newsbot.crawl.failures import Ignored
from newsbot.crawl.links.canonical import Canonical, alias_of
from newsbot.crawl.links.queue import Links
from newsbot.crawl.visit import EXCHANGE_KEY, META_KEY, Hop, Visit
from newsbot.items import EventKind, GivenBy, Reason
from newsbot.middlewares import content_type_of
from newsbot.middlewares.cookies import cookies_for
from newsbot.pages.extraction.addresses import forward_target
from newsbot.pages.rules.rule import classify
from newsbot.urls import canonicalize, fingerprint, resolve


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's middleware, extended: it passes the visit on to the next hop and skips known targets."""

    _context: Context
    _canonical: Canonical
    _links: Links

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware as Scrapy does."""
        self, crawl = super().from_crawler(crawler), Crawl.of(crawler)
        self._context, self._canonical, self._links = crawl.context, crawl.canonical, crawl.links
        return self

    def handle_referer(self, request: Request, response: Response) -> None:
        """Send no Referer."""
        request.headers.pop("Referer", None)

    def _engine_started(self) -> None:
        """Do nothing. Scrapy's method needs RefererMiddleware, which newsbot does not use."""

    async def process_response(  # type: ignore[override]  # Scrapy awaits it
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request for the target of a redirect; other responses are returned unchanged.

        Raises :class:`Ignored` if the target must not or need not be fetched.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        try:
            result = await self._next_hop(request, response)
        except IgnoreRequest as error:
            raise Ignored(Reason.REDIRECTS, "too many redirects in a row") from error
        except ValueError as error:
            raise Ignored(Reason.BAD_URL, f"redirects to an invalid URL: {error}") from error
        if not isinstance(result, Request):
            return result
        # A name and a password in the target must not appear in data and logs.
        if "@" in result.url:
            result = result.replace(url=without_user(result.url))
        if visit is None:
            return result
        result = await self._context.calls.run(self._check_target, visit, request, result)
        visit.hops = (*visit.hops, _hop(request))
        visit.note(self._context.clock(), EventKind.REDIRECT, status=response.status, to=result.url)
        return result

    async def _next_hop(self, request: Request, response: Response) -> Request | Response:
        location = response.headers.get("Location")
        if location is not None and 300 <= response.status < 400:
            response.headers["Location"] = resolve(response.url, _text_of(location)) or location
        return super().process_response(request, response)

    def _check_target(self, visit: Visit, request: Request, target: Request) -> Request:
        """Record the target in the visit, and return it.

        If a stranger redirects to a site that has a rule, the target is fetched in its canonical spelling.
        Raises :class:`Ignored` if it must not or need not be fetched.
        """
        context = self._context
        try:
            rule = context.rule_for(target.url)
            canonical = canonicalize(target.url, (visit.rule if visit.kind.is_source else rule).drop_query)
        except ValueError as error:
            raise Ignored(Reason.BAD_URL, f"redirects to {target.url}: {error}") from error
        ruled = context.rules.get(rule.domain) is not None
        from_stranger = context.rule_for(request.url).domain != rule.domain and not visit.kind.is_source
        if ruled and from_stranger and not GivenBy.of(visit.data).counts_for(rule.domain):
            target = target.replace(url=canonical)
        # A site may redirect to the same address with another cookie. Such a chain is not a circle.
        if Hop(target.url, cookies_for(target)) in (_hop(request), *visit.hops):
            raise Ignored(Reason.REDIRECTS, f"redirects in a circle: {target.url}")
        visit.redirected_to = canonical
        here = fingerprint(canonical)
        # A source, or a page that a person requested, is read even if the target is known or denied by a
        # rule.
        if here == visit.lease.entry.fingerprint or visit.kind.is_source or visit.forced:
            return target
        if ruled:
            visit.rule = rule  # an article belongs to the site that publishes it
        if classify(visit.rule, canonical).denied:
            raise Ignored(Reason.DENIED, f"redirects to a URL that the site's rule denies: {canonical}")
        if self._canonical.is_taken(here):
            alias = alias_of(visit, target.url, here, context.clock())
            # If the known page failed under its present spelling, it is tried under the spelling of this
            # redirect.
            self._links.offer([replace(alias, priority=visit.lease.entry.priority)])
            raise Ignored(Reason.REDIRECT_KNOWN, f"redirects to a known page: {canonical}")
        return target


def _hop(request: Request) -> Hop:
    return Hop(request.url, request.headers.get("Cookie") or b"")


def _text_of(location: bytes) -> str:
    """Return the text of a header as browsers read it: UTF-8, and otherwise escaped bytes."""
    try:
        return location.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in location)


class RefreshMiddleware(RedirectMiddleware):
    """Follows pages that only forward their readers, like redirects. It needs decompressed responses."""

    async def _next_hop(self, request: Request, response: Response) -> Request | Response:
        if (
            request.meta.get("dont_redirect")
            or request.method == "HEAD"
            or response.status >= HTTPStatus.MULTIPLE_CHOICES
        ):
            return response
        header = (response.headers.get("Refresh") or b"").decode("latin-1")
        charset = http_content_type_encoding(content_type_of(response))
        # A page that sets a cookie and reloads itself forwards those readers who accept the cookie.
        reloads = "Set-Cookie" in response.headers
        target = forward_target(response.body, response.url, header, charset, reloads=reloads)
        if target is None:
            return response
        exchange = request.meta.pop(EXCHANGE_KEY, None)
        if exchange is not None and self._context.archive is not None:
            await self._context.archive.keep(exchange)
        return self._redirect(self._build_redirect_request(request, response, url=target), request, "refresh")
