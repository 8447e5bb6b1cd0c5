"""What the sites of a crawl say about AI for all their pages: robots.txt and tdmrep.json, by origin."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from scrapy.http import Response

from newsbot.rights import Reservations, RobotsSignals

MAX_KNOWN = 20_000
"""Origins that are remembered; then all are asked again as they come."""

CanFetch = Callable[[str, str], bool]


class SiteRights:
    """Filled by the middlewares that ask for the files, read when a page is."""

    def __init__(self) -> None:
        self._robots: dict[str, tuple[RobotsSignals, CanFetch]] = {}
        self._reservations: dict[str, Reservations] = {}

    def heard_robots(self, origin: str, told: RobotsSignals, can_fetch: CanFetch) -> None:
        """Keep what robots.txt of an origin says; ``can_fetch(url, agent)`` judges by the whole file."""
        if len(self._robots) >= MAX_KNOWN:
            self._robots.clear()
        self._robots[origin] = (told, can_fetch)

    def heard_tdmrep(self, origin: str, told: Reservations) -> None:
        """Keep what tdmrep.json of an origin says."""
        if len(self._reservations) >= MAX_KNOWN:
            self._reservations.clear()
        self._reservations[origin] = told

    def signals(self, url: str) -> dict[str, str]:
        """Return the signals for an address, with the place of each."""
        origin = origin_of(url)
        signals: dict[str, str] = {}
        if origin in self._robots:
            told, can_fetch = self._robots[origin]
            signals |= told.signals(url, can_fetch)
        if origin in self._reservations:
            signals |= self._reservations[origin].signals(url)
        return signals


def headers_of(response: Response) -> dict[str, list[str]]:
    """Return the headers of an answer by lower-case name."""
    told: dict[bytes, list[bytes]] = dict(response.headers)
    return {
        name.decode("latin-1").lower(): [one.decode("latin-1") for one in values]
        for name, values in told.items()
    }


def origin_of(url: str) -> str:
    """Return scheme and authority of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
