"""How good a notifier is: whether what it tells leads to something new, and whether it tells all.

Both are shares with forgetting: a count loses half of its weight in HALF_LIFE, so that a hub that once was
good and now floods is not believed for long, and one that got better is soon believed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

TRUST = "trust"
"""The kind of the notes that keep it, by the notifier's name (protocol and host)."""
HALF_LIFE = 7 * 86400.0
_PRIOR_HITS, _PRIOR_NOTICES = 3.0, 4.0
"""A notifier begins as one of whose four notices three were right."""
LEAST = 0.05
"""A notifier without any merit is still heard now and then, else it could never regain trust."""


@dataclass(slots=True)
class Trust:
    """Weights at the moment ``at`` (POSIX seconds)."""

    at: float
    hits: float = 0.0
    """Notices whose fetch found something new."""
    misses: float = 0.0
    """Notices whose fetch found nothing."""
    told: float = 0.0
    """Changes found in fetches that notices caused."""
    untold: float = 0.0
    """Changes found by our own polls of places that it tells of."""

    def tell(self, now: float, *, new: bool) -> None:
        """A notice was followed: ``new`` if the fetch found something."""
        self.fade(now)
        if new:
            self.hits += 1
            self.told += 1
        else:
            self.misses += 1

    def missed(self, now: float) -> None:
        """Our own poll found something of which the notifier had said nothing."""
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
        """What part of its notices' budget it may use, LEAST to 1: full from a precision of one half on."""
        return max(LEAST, min(1.0, 2 * self.precision()))

    def faded(self, now: float) -> Trust:
        """Return what is left of it at ``now``."""
        later = replace(self)
        later.fade(now)
        return later

    def fade(self, now: float) -> None:
        """Let all that was counted lose weight until ``now``."""
        keep = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE)
        self.hits, self.misses = self.hits * keep, self.misses * keep
        self.told, self.untold = self.told * keep, self.untold * keep
        self.at = max(self.at, now)

    def as_note(self) -> dict[str, Any]:
        """Return what :meth:`of_note` reads."""
        return asdict(self)

    @classmethod
    def of_note(cls, note: Mapping[str, Any]) -> Trust:
        """Return the trust that a note keeps."""
        return cls(**{name: float(note[name]) for name in ("at", "hits", "misses", "told", "untold")})
