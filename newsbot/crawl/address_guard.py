"""Keeps the crawl away from private addresses: only hosts that the public can reach are contacted."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.resolver import CachingThreadedResolver
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa")


def is_public(address: str) -> bool:
    """Return True for an IP address that is globally reachable (IANA special-purpose registries).

    IPv4-mapped, 6to4 and NAT64 addresses are judged by the IPv4 address inside. ``ValueError`` if
    ``address`` is no IP address.
    """
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or _nat64(ip)
        if inner is not None:
            ip = inner
    return ip.is_global and not ip.is_multicast


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if ip in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return None


def is_local(host: str) -> bool:
    """Return True for an IP address that is not public and for names that are local by convention."""
    if host == "localhost" or host.endswith(LOCAL_NAMES):
        return True
    try:
        return not is_public(host.strip("[]"))
    except ValueError:
        return False


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
