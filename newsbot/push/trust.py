"""Trust in notifiers: how many of their notices are right, and how many changes they report.

Both are shares with exponential decay: a count loses half of its weight in HALF_LIFE. So a good hub that
starts to flood soon loses trust, and one that improves soon regains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from newsbot.clock import Clock, utc
from newsbot.storage.notes import Notes

TRUST = "trust"
"""The kind of the notes with trust, by name of the notifier (protocol and host)."""
HALF_LIFE = 7 * 86400.0
_PRIOR_HITS, _PRIOR_NOTICES = 3.0, 4.0
"""A new notifier starts as if three of its four notices were right."""
LEAST = 0.05
"""The lowest share. It is above 0, so that a notifier can regain trust."""


@dataclass(slots=True)
class Trust:
    """Weights at the moment ``at`` (POSIX seconds)."""

    at: float
    hits: float = 0.0
    """Notices whose fetch found something new."""
    misses: float = 0.0
    """Notices whose fetch found nothing."""
    told: float = 0.0
    """Changes that were found in fetches caused by notices."""
    untold: float = 0.0
    """Changes that were found by our own polls of URLs that it reports on."""

    def tell(self, now: float, *, new: bool) -> None:
        """Count a notice that led to a fetch; ``new``: the fetch found something new."""
        self.fade(now)
        if new:
            self.hits += 1
            self.told += 1
        else:
            self.misses += 1

    def missed(self, now: float) -> None:
        """Count a change that our own poll found without a notice."""
        self.fade(now)
        self.untold += 1

    def precision(self) -> float:
        """The share of notices that were right, 0 to 1, shrunk towards the prior."""
        return (self.hits + _PRIOR_HITS) / (self.hits + self.misses + _PRIOR_NOTICES)

    def recall(self) -> float | None:
        """The share of changes that it told of; None while there was none."""
        changes = self.told + self.untold
        return self.told / changes if changes else None

    def share(self) -> float:
        """The share of the budget that it may use, LEAST to 1. It is 1 from a precision of one half on."""
        return max(LEAST, min(1.0, 2 * self.precision()))

    def faded(self, now: float) -> Trust:
        """Return the trust with weights decayed to ``now``."""
        later = replace(self)
        later.fade(now)
        return later

    def fade(self, now: float) -> None:
        """Decay all weights to ``now``."""
        keep = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE)
        self.hits, self.misses = self.hits * keep, self.misses * keep
        self.told, self.untold = self.told * keep, self.untold * keep
        self.at = max(self.at, now)

    def as_note(self) -> dict[str, Any]:
        """Return a note for :meth:`of_note`."""
        return asdict(self)

    @classmethod
    def of_note(cls, note: Mapping[str, Any]) -> Trust:
        """Return the trust in a note."""
        return cls(**{name: float(note[name]) for name in ("at", "hits", "misses", "told", "untold")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """One notifier. Counts are weights that halve in a week (:data:`newsbot.push.trust.HALF_LIFE`)."""

    protocol: str
    """``websub``, ``indexnow``, ``sensor``, ``rsscloud``, ``ping``, …"""
    host: str
    notices: float
    """Notices that were followed."""
    changes: float
    """Changes at the URLs it reports on, found by its notices or without them."""
    precision: float | None
    """The share of its notices that led to something new; None without notices."""
    recall: float | None
    """The share of changes that it told of; None while there was none."""
    believed: float
    """The share of a host's budget that it may use, 0 to 1. It falls with the precision."""
    last: datetime
    """When a notice was last judged."""


def notifiers(notes: Notes, now: float) -> list[Notifier]:
    """Return all notifiers, those with the most notices first; ``now`` is in POSIX seconds.

    Raises :class:`newsbot.errors.DataError`.
    """
    found = []
    for name, note in notes.all(TRUST).items():
        then = Trust.of_note(note)
        trust = then.faded(now)
        protocol, _, host = name.partition(":")
        notices = trust.hits + trust.misses
        found.append(
            Notifier(
                protocol=protocol,
                host=host,
                notices=notices,
                changes=trust.told + trust.untold,
                precision=trust.hits / notices if notices else None,
                recall=trust.recall(),
                believed=trust.share(),
                last=utc(then.at),
            )
        )
    return sorted(found, key=lambda one: (-one.notices, one.protocol, one.host))


PATIENCE = 3600.0
"""Seconds after which a notice that did not lead to a fetch is dropped."""
MAX_PLACES = 50_000


@dataclass(slots=True)
class _Place:
    notifier: str
    fetches: int
    found: int
    noticed: float | None = None


class Ledger:
    """Updates and stores the trust in each notifier."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self.trust: dict[str, Trust] = {}
        self.changed: set[str] = set()
        """Notifiers with unsaved changes."""

    def share(self, notifier: str) -> float:
        """Return the share of the budget that the notifier may use, 0 to 1."""
        return self._of(notifier).share()

    def expect(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """Expect notices of ``url`` from ``notifier``. ``fetches`` and ``found`` are its present counts."""
        if url not in self._places and len(self._places) < MAX_PLACES:
            self._places[url] = _Place(notifier, fetches, found)

    def noticed(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """Record an accepted notice."""
        self.expect(notifier, url, fetches, found)
        place = self._places.get(url)
        if place is not None:
            place.notifier, place.noticed = notifier, self._clock()

    @property
    def watched(self) -> list[str]:
        """Return the URLs to observe."""
        return list(self._places)

    def observe(self, url: str, fetches: int, found: int) -> None:
        """Compare the counts of a URL with the earlier ones and judge its notices."""
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
