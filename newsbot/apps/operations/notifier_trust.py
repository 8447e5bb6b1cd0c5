"""Measures the trust in notifiers (servers that send notices of changed pages), and limits their fetches.

Two figures are measured for each notifier: the share of its notices that were right (``precision``), and the
share of changes that it reported (``recall``). The trust depends on the precision. A notice is right if the
fetch after it finds something new. The counts decay exponentially: a count loses half of its weight in
:data:`HALF_LIFE`. So a good hub that starts to send wrong notices soon loses trust, and a notifier that
improves soon regains trust.

Fetches are limited by token buckets (:class:`Budget`): one for each host and one for each sender. A bucket
holds at most ``burst`` tokens and gains ``per_hour`` tokens per hour. Each accepted notice takes one token
from the host's bucket, and one or more from its sender's bucket: the less trust, the more tokens. The trust
in a notifier also limits how far it may empty the bucket of the host. A new or bad notifier therefore cannot
use up the budget of other notifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from newsbot.clock import Clock, utc
from newsbot.items import Bounded
from newsbot.storage.notes import Notes

MAX_BUCKETS = 50_000
"""Maximum number of buckets.

If there are more, the least recently used bucket is dropped and later starts full.
"""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Budget:
    """Token buckets by key, all with the same size and rate."""

    def __init__(self, per_hour: float, burst: float, clock: Clock) -> None:
        self._rate = per_hour / 3600
        self._burst = burst
        self._clock = clock
        self._buckets = Bounded[str, _Bucket](MAX_BUCKETS)

    def take(self, key: str, share: float = 1.0, *, reserve: float = 0.0) -> bool:
        """Take tokens for one notice from the bucket of ``key``. Return False if the bucket has too few.

        ``share`` (0 to 1) is the trust in the notifier. A notice costs ``1 / share`` tokens. If ``share`` is
        0, the result is always False. ``reserve`` (0 to 1) is the part of a full bucket that must remain for
        other notifiers.
        """
        if share <= 0:
            return False
        now = self._clock()
        bucket = self._buckets[key] = self._buckets.get(key) or _Bucket(self._burst, now)
        passed = max(0.0, now - bucket.at)  # the difference is negative if the clock was set back
        bucket.tokens = min(self._burst, bucket.tokens + passed * self._rate)
        bucket.at = now
        price = min(1 / share, self._burst)  # a full bucket is always enough for one notice
        if bucket.tokens < price + min(reserve * self._burst, self._burst - 1):
            return False
        bucket.tokens -= price
        return True


TRUST = "trust"
"""Kind of the notes with trust; the key is the name of the notifier, ``protocol:host``."""
HALF_LIFE = 7 * 86400.0
"""Time in seconds in which a count loses half of its weight."""
_PRIOR_HITS, _PRIOR_NOTICES = 3.0, 4.0
"""A new notifier starts as if three of its first four notices had been right."""
LEAST = 0.05
"""The lowest share of the budget. It is above 0, so that a notifier can regain trust."""


@dataclass(slots=True)
class Trust:
    """The decayed counts of a notifier at the time ``at`` (POSIX seconds)."""

    at: float
    hits: float = 0.0
    """Number of notices after which the fetch found something new."""
    misses: float = 0.0
    """Number of notices after which the fetch found nothing new."""
    told: float = 0.0
    """Number of changes that the notifier reported. Fetches after its notices found these changes."""
    untold: float = 0.0
    """Number of changes that the notifier did not report. Our own polls found these changes at its URLs."""

    def tell(self, now: float, *, new: bool) -> None:
        """Count a notice that caused a fetch; ``new`` is True if the fetch found something new."""
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
        """Return the share of notices that were right (0 to 1), shrunk towards the prior.

        The prior is the precision with which a new notifier starts. Because of the prior, a single notice has
        little effect.
        """
        return (self.hits + _PRIOR_HITS) / (self.hits + self.misses + _PRIOR_NOTICES)

    def recall(self) -> float | None:
        """Return the share of changes that the notifier reported (0 to 1); None if there were no changes."""
        changes = self.told + self.untold
        return self.told / changes if changes else None

    def share(self) -> float:
        """Return the share of the budget that the notifier may use, from :data:`LEAST` to 1.

        The share is 1 if at least half of the notices are right.
        """
        return max(LEAST, min(1.0, 2 * self.precision()))

    def fade(self, now: float) -> None:
        """Decay all counts to ``now`` (POSIX seconds)."""
        keep = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE)
        self.hits, self.misses = self.hits * keep, self.misses * keep
        self.told, self.untold = self.told * keep, self.untold * keep
        # Without max(), the counts would decay twice for the same hours after the clock was set back.
        self.at = max(self.at, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """A notifier, as shown to users. Counts lose half of their weight in :data:`HALF_LIFE`."""

    protocol: str
    """``websub``, ``indexnow``, ``sensor``, ``rsscloud``, ``ping``, …"""
    host: str
    notices: float
    """Number of notices that caused a fetch."""
    changes: float
    """Number of all changes at the URLs for which it sends notices, with or without a notice."""
    precision: float | None
    """Share of its notices that led to something new (0 to 1); None without notices."""
    recall: float | None
    """Share of the changes that it reported (0 to 1); None without changes."""
    believed: float
    """Share of a host's budget that the notifier may use (0 to 1). This share depends on the precision."""
    last: datetime
    """Time of the last change of its trust."""


def notifiers(notes: Notes, now: float) -> list[Notifier]:
    """Return all notifiers, those with the most notices first. ``now`` is in POSIX seconds.

    Raises :class:`newsbot.errors.DataError`.
    """
    found = []
    for name, note in notes.all(TRUST).items():
        trust = Trust(**note)
        # The note contains the counts as of the time when it was written. They have decayed since then.
        trust.fade(now)
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
                last=utc(note["at"]),
            )
        )
    return sorted(found, key=lambda one: (-one.notices, one.protocol, one.host))


FORGET_NOTICE_AFTER = 3600.0
"""Seconds after which a notice is forgotten if no fetch followed it."""
MAX_PLACES = 50_000
"""Maximum number of URLs that are observed."""


@dataclass(slots=True)
class _Place:
    notifier: str
    fetches: int
    found: int
    noticed: float | None = None


class Ledger:
    """Keeps the trust in each notifier, and updates the trust from counts of fetches and changes.

    For each observed URL, the caller reports how often it was fetched and how many changes were found.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self.trust: dict[str, Trust] = {}
        self.changed: set[str] = set()
        """Names of the notifiers whose trust changed and must be stored."""

    def share(self, notifier: str) -> float:
        """Return the share of the budget that the notifier may use (0 to 1)."""
        return self._of(notifier).share()

    def expect(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """Observe ``url``, for which ``notifier`` is expected to send notices.

        ``fetches`` is the current number of fetches, and ``found`` is the number of changes that they found.
        """
        if url not in self._places and len(self._places) < MAX_PLACES:
            self._places[url] = _Place(notifier, fetches, found)

    def noticed(self, notifier: str, url: str, fetches: int, found: int) -> None:
        """Record an accepted notice of ``url``, with the current counts as in :meth:`expect`."""
        self.expect(notifier, url, fetches, found)
        place = self._places.get(url)
        if place is not None:
            place.notifier, place.noticed = notifier, self._clock()

    @property
    def watched(self) -> list[str]:
        """The URLs that are observed."""
        return list(self._places)

    def observe(self, url: str, fetches: int, found: int) -> None:
        """Compare the current counts of a URL with its earlier counts, and update the trust."""
        place, now = self._places.get(url), self._clock()
        if place is None:
            return
        if fetches > place.fetches:
            # At most one notice is judged for each fetch. All notices between two fetches count as one.
            new = found > place.found
            if place.noticed is not None:
                self._of(place.notifier).tell(now, new=new)
                self.changed.add(place.notifier)
            elif new:
                self._of(place.notifier).missed(now)
                self.changed.add(place.notifier)
            place.fetches, place.found, place.noticed = fetches, found, None
        # If no fetch follows, for example because the budget is used up, the notice is not judged.
        elif place.noticed is not None and now - place.noticed > FORGET_NOTICE_AFTER:
            place.noticed = None

    def _of(self, notifier: str) -> Trust:
        return self.trust.setdefault(notifier, Trust(at=self._clock()))
