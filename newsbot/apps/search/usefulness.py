"""Counts how often people search, read and save articles of each site, to poll useful sites sooner.

Only a number for each site is stored: no query, no article and no person. The number loses half of its value
in :data:`HALF_LIFE`. From these numbers and the number of articles of each site, :func:`weights` computes how
useful an article of a site is. The crawl multiplies the rate of new articles of a source by this weight
(:class:`newsbot.crawl.sources.PollBudget`). All of this is off unless NEWSBOT_POLL_USEFUL is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from threading import Lock
from typing import Any, Final

from newsbot.clock import DAY
from newsbot.crawl.sources import WEIGHTS
from newsbot.storage.base import Storage
from newsbot.storage.notes import SharedNotes

FOUND, READ, SAVED = 0.1, 1.0, 3.0
"""How much an article counts that a search shows, that is opened, and that is saved."""
HALF_LIFE: Final = 30 * DAY
COUNTED: Final = 30 * DAY
"""The articles of this number of seconds are counted."""
PRIOR: Final = 20.0
"""The weight of a site is a mean with this number of articles of average usefulness."""
LEAST, MOST = 1 / 8, 32.0
"""Smallest and largest weight."""
MAX_SITES: Final = 1000
"""Maximum number of sites with a weight: those with the most articles and uses."""
WEIGH_EVERY: Final = 3600.0
"""Seconds after which the weights are computed again."""
KIND: Final = "usefulness"
"""Kind of the notes with the numbers; the key is the domain."""


def weights(uses: Mapping[str, float], articles: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each site of ``articles``. It is empty if nobody has used an article.

    ``uses`` and ``articles`` are numbers by site. The weights keep the number of polls: with the square-root
    rule, it is proportional to the square root of weight and articles.
    """
    total, number = sum(uses.get(site, 0.0) for site in articles), sum(articles.values())
    if not total or not number:
        return {}
    usual = total / number
    found = {
        site: min(MOST, max(LEAST, (uses.get(site, 0.0) / usual + PRIOR) / (count + PRIOR)))
        for site, count in articles.items()
    }
    without = sum(count**0.5 for count in articles.values())
    ratio = (without / sum((found[site] * count) ** 0.5 for site, count in articles.items())) ** 2
    return {site: weight * ratio for site, weight in found.items()}


Addition = tuple[float, float]
"""A time in POSIX seconds, and the number that is added to the site's number."""


def _decayed(note: Mapping[str, Any] | None, now: float) -> float:
    if note is None:
        return 0.0
    # The difference is negative if the clock was set back.
    return float(note["number"] * 0.5 ** (max(0.0, now - note["at"]) / HALF_LIFE))


def _merged(note: dict[str, Any] | None, addition: Addition) -> dict[str, Any]:
    now, number = addition
    return {"at": round(now), "number": round(_decayed(note, now) + number, 3)}


class Uses:
    """The uses of articles that are not stored yet. Threads can use it at the same time.

    If it is not ``on``, it counts nothing.
    """

    def __init__(self, *, on: bool) -> None:
        self._on, self._lock = on, Lock()
        self._new = Counter[str]()
        self._shared = SharedNotes[Addition](KIND, _merged)
        self._weighed = 0.0

    def count(self, sites: Iterable[str], amount: float) -> None:
        """Count an article of each of these domains; ``amount`` is one of FOUND, READ and SAVED."""
        if self._on:
            with self._lock:
                for site in sites:
                    self._new[site] += amount  # type: ignore[assignment]  # a Counter can hold floats

    def write(self, storage: Storage, now: float) -> None:
        """Store the numbers, and compute the weights again if they are an hour old.

        Raises :class:`newsbot.errors.DataError`.
        """
        with self._lock:
            taken, self._new = self._new, Counter()
        written: Mapping[str, object] = {}
        try:
            written = self._shared.write(storage.notes, {site: (now, one) for site, one in taken.items()})
        finally:
            with self._lock:
                self._new.update({site: one for site, one in taken.items() if site not in written})
        if self._on and not self._weighed <= now < self._weighed + WEIGH_EVERY:
            storage.notes.save(*WEIGHTS, present_weights(storage, now))
            self._weighed = now


def present_weights(storage: Storage, now: float) -> dict[str, float]:
    """Return the weights of at most :data:`MAX_SITES` sites. Raises :class:`newsbot.errors.DataError`."""
    uses = {site: _decayed(note, now) for site, note in storage.notes.all(KIND).items()}
    articles = {site: sum(days.values()) for site, days in storage.activity.trends(now - COUNTED).items()}
    found = weights(uses, articles)
    kept = nlargest(MAX_SITES, found, key=lambda site: uses.get(site, 0.0) + articles[site])
    return {site: round(found[site], 3) for site in kept}
