"""Detects that this machine has no network, so that failures do not count as failures of the sites.

Failed visits are not completed before a host has answered. If no host of several sites has answered and there
is no other site to try, the crawl ends within seconds. The leases are returned, and no page is postponed.
"""

from __future__ import annotations

from collections import Counter
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from newsbot.cli.program import PROGRAM
from newsbot.items import Reason

ENOUGH: Final = 3
"""If at least this number of sites failed and no other sites are left, the network counts as down.

The number is above 1, because a single site may be down itself.
"""
MANY: Final = 10
"""After this number of sites has failed, no other sites are tried."""
MAX_SITES: Final = 10_000
"""Maximum number of failed sites that are remembered."""
UNREACHABLE: Final = "newsbot/unreachable"
"""Name of the stat that holds :attr:`Reachability.fault` at the end of a crawl."""


class Reachability:
    """The results of one crawl's first requests."""

    def __init__(self) -> None:
        self._answered = self._believed = False
        self._failed: dict[str, str] = {}
        """The cause of the last failure, by site."""
        self.begun = False
        """True once all seeds of the crawl are queued."""

    def answered(self) -> None:
        """Record that a host has answered."""
        self._answered = True
        self._failed.clear()

    def failed(self, site: str, cause: str) -> None:
        """Record that a host could not be reached. ``cause`` is from :mod:`newsbot.crawl.failures`."""
        # Once a host has answered, the network works, and further failures are failures of the sites.
        if not self._answered and len(self._failed) < MAX_SITES:
            self._failed[site] = cause

    def believe(self) -> None:
        """Count the failures as failures of the sites. This is called when there is no other site to try."""
        self._believed = True

    @property
    def in_doubt(self) -> bool:
        """True while all sites have failed, so the network may be the reason."""
        return bool(self._failed) and not self._believed

    @property
    def enough_tried(self) -> bool:
        """True if :data:`MANY` sites have failed and none has answered. Other sites need not be tried."""
        return self.in_doubt and len(self._failed) >= MANY

    @property
    def is_ours(self) -> bool:
        """True if the sites did not cause the failures. The value is valid only when there is no other site
        to try."""
        # If the address guard has refused all sites, one failure is enough, because no site caused it.
        refused_by_us = set(self._failed.values()) == {Reason.PRIVATE_ADDRESS}
        return self.in_doubt and (refused_by_us or len(self._failed) >= ENOUGH)

    @property
    def fault(self) -> str | None:
        """The fault and the remedy in one line; None if a host has answered or no host was tried."""
        if not self._failed:
            return None
        causes = Counter(self._failed.values())
        names = sorted(self._failed)
        more = f" and {len(names) - ENOUGH} more" if len(names) > ENOUGH else ""
        sites = ", ".join(names[:ENOUGH]) + more
        if set(causes) == {Reason.PRIVATE_ADDRESS}:
            return (
                f"no host was contacted: the addresses of {sites} are private IP addresses, which newsbot "
                "does not contact; to allow them, set NEWSBOT_ALLOW_PRIVATE=1"
            )
        if set(causes) == {Reason.TLS}:
            return (
                f"no host was read: the certificates of {sites} are not valid; {PROGRAM} why URL shows more "
                "(rule key: tls)"
            )
        listed = ", ".join(f"{cause} {number}" for cause, number in causes.most_common())
        # The host name only: the URL of a proxy may have a password.
        proxies = ", ".join(sorted({urlsplit(url).hostname or url for url in getproxies().values()}))
        question = (
            f"check the proxy {proxies} (http_proxy, https_proxy)."
            if proxies
            else f"check {'the address and ' if len(names) < ENOUGH else ''}the network connection. "
            "Behind a proxy, set http_proxy and https_proxy."
        )
        spared = "" if self._believed else " No page was postponed."
        return (
            f"no host could be reached: {sites} ({listed}): {question}{spared} "
            f"To try newsbot without a network, run: {PROGRAM} demo"
        )
