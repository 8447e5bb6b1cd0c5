"""A resolver for crawls in tests: names under ``.test`` resolve to loopback, without a real name server."""

from __future__ import annotations

from typing import Any

from scrapy.resolver import dnscache
from twisted.internet.address import IPv4Address

from newsbot.crawl.address_guard import GuardedResolver


class NamedAddresses(GuardedResolver):
    """The guard checks these addresses like any others."""

    def resolveHostName(self, receiver: Any, name: str, *more: Any, **named: Any) -> Any:  # type: ignore[override]  # noqa: N802
        """Resolve ``name``."""
        if name.endswith(".test"):
            dnscache[name] = [IPv4Address("TCP", "127.0.0.1", 0)]
        return super().resolveHostName(receiver, name, *more, **named)
