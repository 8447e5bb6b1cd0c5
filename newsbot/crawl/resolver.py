"""DNS with a guard: names that lead to private addresses are not connected to.

Checking at resolution, instead of looking the name up beforehand, leaves no gap for DNS rebinding:
the address that was checked is the one that is connected to. A proxy's own name is exempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.resolver import CachingThreadedResolver
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

from newsbot.crawl.address_guard import is_public

MAX_REFUSED = 10_000
refused: set[str] = set()
"""Names that were refused; Twisted reports them like names that do not exist."""


class GuardedResolver(CachingThreadedResolver):
    """Scrapy's caching resolver that refuses private addresses unless NEWSBOT_ALLOW_PRIVATE is on."""

    allow_private = False
    exempt: frozenset[str] = frozenset()

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> GuardedResolver:
        """Make the resolver from the crawl's settings."""
        resolver = super().from_crawler(crawler, reactor)
        resolver.allow_private = crawler.settings.getbool("NEWSBOT_ALLOW_PRIVATE")
        resolver.exempt = frozenset(urlsplit(proxy).hostname or "" for proxy in getproxies().values())
        return resolver

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:  # noqa: N802 (Twisted)
        """Resolve ``name``; a private address fails like an unknown name and is noted in :data:`refused`."""
        answer = super().getHostByName(name, timeout)
        if not self.allow_private and name not in self.exempt:
            answer.addCallback(self._guard, name)
        return answer

    @staticmethod
    def _guard(address: str, name: str) -> str:
        if not is_public(address):
            if len(refused) >= MAX_REFUSED:
                refused.clear()
            refused.add(name)
            raise DNSLookupError(f"{name} leads to the private address {address}")
        return address
