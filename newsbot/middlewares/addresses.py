"""Refuses requests to private addresses, to unusual ports and to schemes other than http and https.

IP addresses in URLs are checked here, after WHATWG parsing, which recognises ``0x7f.1`` as 127.0.0.1. Names
are checked when they are resolved (:mod:`newsbot.crawl.address_guard`). If a proxy is used, the proxy
resolves names, and they are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.http import Request

from newsbot.crawl.address_guard import USUAL_PORTS, GuardedResolver, is_local
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import ASIDE_KEY, META_KEY, PART_KEY, Visit
from newsbot.items import Reason, Where
from newsbot.pages.rules.rule import Rule
from newsbot.urls import canonicalize


class AddressGuardMiddleware:
    """Refuses private addresses and unusual ports. NEWSBOT_ALLOW_PRIVATE switches this off."""

    def __init__(self, allow_private: bool, rule_for: Callable[[str], Rule]) -> None:
        self.allow_private, self._rule_for = allow_private, rule_for

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AddressGuardMiddleware:
        """Make the middleware as Scrapy does."""
        allow_private = crawler.settings.getbool("NEWSBOT_ALLOW_PRIVATE")
        # Scrapy has one resolver for all spiders of a process.
        GuardedResolver.checks |= not allow_private
        return cls(allow_private, Crawl.of(crawler).context.rule_for)

    def process_request(self, request: Request) -> None:
        """Raise :class:`Ignored` (private_address, port, bad_url) for a URL that must not be fetched."""
        try:
            parts = urlsplit(canonicalize(request.url))
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise Ignored(Reason.BAD_URL, str(error)) from error
        if self.allow_private:
            return
        if is_local(host):
            raise Ignored(
                Reason.PRIVATE_ADDRESS, f"{host} is not a public address (setting NEWSBOT_ALLOW_PRIVATE)"
            )
        # Unusual ports are refused, because a link could make the crawl send requests to services such as
        # databases. The first check is for requests of the news crawl, the second for requests of other
        # spiders, and the third for requests of a page's scripts.
        visit: Visit | None = request.meta.get(META_KEY)
        if port not in USUAL_PORTS and visit is not None and not _may_ask(visit, parts.netloc, port):
            raise Ignored(Reason.PORT, f"port {port} is not usual; to allow it, name it in a URL of the rule")
        if port not in USUAL_PORTS and ASIDE_KEY in request.meta:
            rule = self._rule_for(request.url)
            if not _is_named(rule, parts.netloc, port):
                raise Ignored(Reason.PORT, f"port {port} is not usual, and the rule does not name it")
        page = request.meta.get(PART_KEY)
        if port not in USUAL_PORTS and page is not None and urlsplit(page).netloc != parts.netloc:
            raise Ignored(Reason.PORT, f"a script of a page requests port {port} of another host")


def _may_ask(visit: Visit, netloc: str, port: int | None) -> bool:
    """Return True if a person or a rule named the port, or if the host's pages have been fetched from it."""
    known = visit.record is not None and visit.record.last_fetched is not None
    if not visit.hops and (known or visit.data.get("where") in (Where.SEED, Where.ARGUMENT)):
        return True
    before = (*(hop.url for hop in visit.hops), visit.data.get("referrer") or "")
    if any(urlsplit(url).netloc == netloc for url in before):
        return True
    return _is_named(visit.rule, netloc, port)


def _is_named(rule: Rule, netloc: str, port: int | None) -> bool:
    """Return True if the rule of the host's site names the port."""
    host = netloc.partition(":")[0]
    named = {urlsplit(url).port for url in (*rule.seeds, *rule.feeds, *rule.sitemaps, *rule.sections)}
    # The dots prevent a match of notexample.org with the domain example.org.
    return port in named and f".{host}".endswith(f".{rule.domain}")
