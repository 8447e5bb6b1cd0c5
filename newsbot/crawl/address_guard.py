"""Refuses hosts with private addresses, so that links on pages cannot make the crawl request our own network.

This protects against server-side request forgery (SSRF). The check is made on the address to which a name
resolves, because a public name may resolve to a private address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver
from scrapy.utils.asyncio import call_later
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.base import ReactorBase
from twisted.internet.interfaces import IAddress, IHostResolution, IResolutionReceiver

from newsbot.items import Bounded
from newsbot.urls import canonicalize

USUAL_PORTS = (None, 80, 443)
"""The ports of public sites; None is the default port of the scheme."""
LOCAL_NAMES = (
    *(".localhost", ".local", ".localdomain", ".internal", ".home.arpa"),
    *(".lan", ".home", ".corp", ".private", ".intranet"),  # RFC 6762, appendix G
)


_LOCAL = tuple(
    ipaddress.ip_network(network)
    # These networks are for local NAT64 (RFC 8215), documentation (RFC 9637), segment routing (RFC 9602),
    # dummy addresses (RFC 9780), protocols (RFC 6890) and relays (RFC 7526). Older Python versions treat some
    # of these as public addresses.
    for network in (
        *("64:ff9b:1::/48", "3fff::/20", "5f00::/16", "100:0:0:1::/64"),
        *("192.0.0.0/24", "192.88.99.0/24"),
    )
)
_GLOBAL = frozenset(map(ipaddress.ip_address, ("192.0.0.9", "192.0.0.10")))
"""Public addresses in these networks (RFC 7723, RFC 8155)."""
_ISATAP = (0x5EFE, 0x2005EFE)
"""The first half of an interface identifier that ends with an IPv4 address (RFC 5214)."""
_HOLD_IPV4 = tuple(
    ipaddress.IPv6Network(network)
    # IPv4-mapped and IPv4-compatible (RFC 4291), IPv4-translated (RFC 2765), NAT64 (RFC 6052)
    for network in ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""IPv6 networks whose addresses end with an IPv4 address."""


def is_public(address: str) -> bool:
    """Return True for an IP address that is globally reachable (by IANA's special-purpose registries).

    If an IPv6 address contains an IPv4 address, the IPv4 address decides. Raises ``ValueError`` if
    ``address`` is not an IP address.
    """
    ip = ipaddress.ip_address(address)
    if _is_reserved(ip):
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.is_site_local:
            return False
        # A gateway would send a packet for this address to the IPv4 address inside it.
        if ip.sixtofour is not None:
            ip = ip.sixtofour
        elif int(ip) >> 32 & 0xFFFFFFFF in _ISATAP or any(ip in network for network in _HOLD_IPV4):
            # The last 32 bits are the IPv4 address.
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    # Python treats multicast addresses as global.
    return ip.is_global and not ip.is_multicast and not _is_reserved(ip)


def _is_reserved(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return ip not in _GLOBAL and any(ip in network for network in _LOCAL)


def is_local(host: str) -> bool:
    """Return True for a private IP address, and for a name that is local by convention or has no dot."""
    if host.endswith(LOCAL_NAMES) or ("." not in host and ":" not in host):
        return True
    try:
        return not is_public(host.strip("[]"))
    except ValueError:
        return False


MAX_REFUSED = 10_000
"""Maximum number of names in :data:`refused`."""
refused = Bounded[str, None](MAX_REFUSED)
"""Names that were refused. Twisted reports refused names and unknown names in the same way."""


proxies: set[str] = set()
"""Hosts of the proxies that rules name. They may have private addresses."""


def was_refused(url: str) -> bool:
    """Return True if the host of ``url`` was refused because of its address, whatever the port is."""
    return urlsplit(canonicalize(url)).hostname in refused


class _PublicAddresses:
    """Passes on the public addresses of a name, in the order of the system.

    If the system does not answer within ``timeout`` seconds, the name has no addresses.
    """

    def __init__(self, name: str, receiver: Any, timeout: float, *, checked: bool) -> None:
        self._name, self._receiver, self._checked = name, receiver, checked
        self._passed, self._refused, self._ended = False, False, False
        self._timer = call_later(timeout, self.end)

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802 (Twisted)
        """Pass on the start."""
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: IPv4Address | IPv6Address) -> None:  # noqa: N802 (Twisted)
        """Pass on a public address."""
        if self._checked and not is_public(address.host):
            self._refused = True
        elif not self._ended:
            self._passed = True
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:  # noqa: N802 (Twisted)
        """End the resolution. A name that has only private addresses is added to :data:`refused`."""
        if self._refused and not self._passed:
            refused.add(self._name)
        self.end()

    def end(self) -> None:
        """End the resolution. Later addresses are ignored."""
        if not self._ended:
            self._ended = True
            self._timer.cancel()
            self._receiver.resolutionComplete()


class GuardedResolver(CachingHostnameResolver):
    """Extends Scrapy's caching resolver for IPv4 and IPv6.

    It waits at most DNS_TIMEOUT seconds. Private addresses are refused once a crawl of newsbot has begun in
    this process, unless NEWSBOT_ALLOW_PRIVATE is on.
    """

    checks = False
    """Whether private addresses are refused. :mod:`newsbot.middlewares.addresses` sets it for the class."""
    timeout = 60.0
    exempt: frozenset[str] = frozenset()

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> GuardedResolver:
        """Make the resolver from the crawl's settings."""
        resolver = super().from_crawler(crawler, reactor)
        resolver.timeout = crawler.settings.getfloat("DNS_TIMEOUT")
        # A proxy often has a private address. Its name comes from our environment, so it need not be checked.
        resolver.exempt = frozenset(urlsplit(proxy).hostname or "" for proxy in getproxies().values())
        return resolver

    def resolveHostName(  # noqa: N802 (Twisted)
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803 (Twisted)
        hostName: str,  # noqa: N803 (Twisted)
        portNumber: int = 0,  # noqa: N803 (Twisted)
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803 (Twisted)
        transportSemantics: str = "TCP",  # noqa: N803 (Twisted)
    ) -> IHostResolution:
        """Resolve a name. A name with private addresses fails like an unknown name."""
        checked = self.checks and hostName not in self.exempt and hostName not in proxies
        receiver: Any = _PublicAddresses(hostName, resolutionReceiver, self.timeout, checked=checked)
        return super().resolveHostName(receiver, hostName, portNumber, addressTypes, transportSemantics)
