"""Reads requests: the fields of a form, and the address of the sender."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from aiohttp import web


async def read_form(request: web.Request) -> Mapping[str, Any]:
    """Return the fields of a form, none where there is no body. Raises ``HTTPBadRequest`` for broken ones."""
    try:
        return await request.post()
    except (ValueError, LookupError, RuntimeError) as error:
        # aiohttp's: no boundary, a charset that is none, a content encoding that it does not know
        raise web.HTTPBadRequest(text="the form cannot be read") from error


_OF_ONE = 64
"""Bits of an IPv6 address that a customer does not choose (RFC 6177): all below them is one sender."""


def sender_of(request: web.Request) -> str:
    """Return the sender's address; the network of 64 bits for IPv6.

    From a proxy on loopback the last entry of ``X-Forwarded-For`` counts: the one that this proxy wrote.
    Without it all that comes through the proxy would be one sender, and a flood would shut out everybody.
    """
    remote = _address(request.remote or "")
    if remote is not None and remote.is_loopback:
        told = ",".join(request.headers.getall("X-Forwarded-For", []))
        remote = _address(told.rpartition(",")[2]) or remote
    if isinstance(remote, IPv6Address) and remote.ipv4_mapped is None:
        return str(ip_network((int(remote), _OF_ONE), strict=False))
    return str(remote or "")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None
