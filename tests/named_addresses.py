"""A resolver for crawls in tests: names under ``.test`` resolve to loopback, without a real name server."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy.resolver import dnscache
from twisted.internet.defer import Deferred

from newsbot.crawl.address_guard import GuardedResolver


class NamedAddresses(GuardedResolver):
    """The guard checks these addresses like any others."""

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:  # noqa: N802 (Twisted)
        """Resolve ``name``."""
        if name.endswith(".test"):
            dnscache[name] = "127.0.0.1"
        return super().getHostByName(name, timeout)
