"""Which notices were right: what was told is compared with what the crawl found afterwards.

A place that is told of (a feed, a page) is looked at from time to time: how often was it fetched, and how
much that is new did these fetches find? Found after a notice, it was told; found without one, it was missed.
"""

from __future__ import annotations

from dataclasses import dataclass

from newsbot.clock import Clock
from newsbot.push.trust import Trust

PATIENCE = 3600.0
"""Seconds after which a notice that led to no fetch is forgotten."""
MAX_PLACES = 50_000


@dataclass(slots=True)
class _Place:
    notifier: str
    fetches: int
    found: int
    noticed: float | None = None


class Ledger:
    """Keeps the trust of each notifier."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self.trust: dict[str, Trust] = {}
        self.changed: set[str] = set()
        """Notifiers whose trust was not kept yet."""

    def share(self, notifier: str) -> float:
        """What part of the budget the notifier may use, 0 to 1."""
        return self._of(notifier).share()

    def expect(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """``notifier`` will tell of ``url``, which was fetched so often and gave so much so far."""
        if url not in self._places and len(self._places) < MAX_PLACES:
            self._places[url] = _Place(notifier, fetches, found)

    def noticed(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """A notice was accepted."""
        self.expect(notifier, url, fetches, found)
        place = self._places.get(url)
        if place is not None:
            place.notifier, place.noticed = notifier, self._clock()

    @property
    def watched(self) -> list[str]:
        """The places to look at."""
        return list(self._places)

    def observe(self, url: str, fetches: int, found: int) -> None:
        """A place was fetched so often until now, and gave so much that was new."""
        place, now = self._places.get(url), self._clock()
        if place is None:
            return
        if fetches > place.fetches:
            new = found > place.found
            if place.noticed is not None:
                self._of(place.notifier).tell(now, new=new)
                self.changed.add(place.notifier)
            elif new:
                self._of(place.notifier).missed(now)
                self.changed.add(place.notifier)
            place.fetches, place.found, place.noticed = fetches, found, None
        elif place.noticed is not None and now - place.noticed > PATIENCE:
            place.noticed = None

    def _of(self, notifier: str) -> Trust:
        return self.trust.setdefault(notifier, Trust(at=self._clock()))
