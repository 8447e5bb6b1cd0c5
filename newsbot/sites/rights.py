"""Reservations on AI that hold for all pages of a host, from robots.txt and tdmrep.json."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from scrapy.http import Response

from newsbot.items import Bounded
from newsbot.rights import Reservations, RobotsSignals
from newsbot.urls import host_key

MAX_KNOWN = 20_000
"""Maximum number of hosts that are remembered."""
MAX_TEXT = 4 * 2**20
"""Maximum size of all robots.txt files that are remembered, in characters.

A parsed file takes 20 times its size in memory, so all files take at most 80 MB.
"""

CanFetch = Callable[[str, str], bool]
"""Takes a URL and the name of a crawler; returns True if robots.txt allows the fetch."""


class SiteRights:
    """The reservations on AI of each host. Middlewares add the files; :meth:`signals` is called per page."""

    def __init__(self) -> None:
        self._robots = Bounded[str, tuple[RobotsSignals, CanFetch, int]](MAX_KNOWN)
        # Twice as many as the middleware remembers, because the middleware tells each file only once.
        self._reservations = Bounded[str, Reservations](2 * MAX_KNOWN)

    def heard_robots(self, url: str, told: RobotsSignals, can_fetch: CanFetch, size: int = 0) -> None:
        """Store what the robots.txt of a URL's host says on AI.

        ``can_fetch`` applies the rules of the same file. ``size`` is the size of the file.
        """
        host = host_key(url)
        if host not in self._robots:
            self._robots.shrink(MAX_TEXT - size, lambda one: one[2])
        self._robots[host] = (told, can_fetch, size)

    def heard_tdmrep(self, origin: str, told: Reservations) -> None:
        """Store the reservations of a host's tdmrep.json."""
        self._reservations[host_key(origin)] = told

    def signals(self, url: str) -> dict[str, str]:
        """Return the reservations for a URL: name of the reservation -> place where it was found.

        The names are those of :attr:`newsbot.items.Article.rights`.
        """
        host = host_key(url)
        signals: dict[str, str] = {}
        if host in self._robots:
            told, can_fetch, _ = self._robots[host]
            signals |= told.signals(url, can_fetch)
        if host in self._reservations:
            signals |= self._reservations[host].signals(url)
        return signals


def headers_of(response: Response) -> dict[str, list[str]]:
    """Return the headers of a response by lower-case name."""
    told: dict[bytes, list[bytes]] = dict(response.headers)
    return {
        name.decode("latin-1").lower(): [one.decode("latin-1") for one in values]
        for name, values in told.items()
    }


def origin_of(url: str) -> str:
    """Return the scheme and authority of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
