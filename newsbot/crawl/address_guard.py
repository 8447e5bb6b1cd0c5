"""Which hosts the public can reach: nothing else is asked on a page's, a feed's or a notice's say-so."""

from __future__ import annotations

import ipaddress

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
