"""Interface of the crawl database: one record for each URL ever seen, with its history and its referrers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Protocol

from newsbot.items import Event, Kind, PageRecord
from newsbot.pages.text.words import clean

MAX_REFERRERS = 20
"""Maximum number of referrers of a page that are stored as URLs. Further referrers are only counted."""
MAX_HISTORY = 30
"""Maximum number of events in the history of a page."""
BEGINNING = "discovered"
"""The name of the event that records where a page was found. This event is always kept, because it affects
how the page is read."""


class Pages(Protocol):
    """Page records by fingerprint."""

    def discover(self, pages: Sequence[PageRecord]) -> None:
        """Record pages that were found through links.

        New pages are written as given (state pending). For known pages, the given referrers are added, and
        the depth is lowered if the given depth is smaller. Nothing else changes. The first MAX_REFERRERS
        distinct referrers are stored. The number of further referrers is estimated, see :class:`Referrers`.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """Return the records of these URLs by fingerprint. Unknown URLs are left out."""

    def save(self, pages: Sequence[PageRecord]) -> None:
        """Write whole records. Known pages keep their ``referrers``, ``referrer_count`` and ``first_seen``.

        New events of ``history`` are added to the stored events, see :func:`merged`.
        """

    def iter(self, *, site: str | None = None, kind: Kind | None = None) -> Iterator[PageRecord]:
        """Stream all records that match all given conditions, in no particular order.

        Pages that are added after the start of the stream are not included.
        """

    def due(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """Stream the records with ``after < next_due <= until`` (POSIX seconds), sorted by ``next_due``.

        A frontier that holds only pages that are due soon reads its next pages from this stream.
        """

    def added(self, since: float) -> Iterator[PageRecord]:
        """Stream the records that were added at ``since`` (POSIX seconds) or later, in this order."""

    def by_key(self, after: bytes = b"") -> Iterator[PageRecord]:
        """Stream all records with fingerprints above ``after``, sorted by fingerprint."""


def merged(kept: list[Event], given: list[Event], most: int = MAX_HISTORY) -> list[Event]:
    """Return the stored events ``kept`` with the events of ``given`` added, sorted by time.

    An event that is stored already is not added again, so the function is idempotent. At most ``most`` events
    are returned: the latest events, and in any case the first event if it is :data:`BEGINNING`.
    """
    events = list(kept)
    for event in given:
        if event not in events:
            events.append(event)
    events.sort(key=lambda event: event.get("at") or 0.0)
    if len(events) > most and events[0].get("event") == BEGINNING:
        # Not events[1 - most:], which would be all events if most is 1.
        return [events[0], *events[len(events) - most + 1 :]]
    return events[-most:]


_BYTES = 128
_BITS = 8 * _BYTES


@dataclass(slots=True)
class Referrers:
    """The pages that link to one page, in bounded space.

    The first :data:`MAX_REFERRERS` referrers are stored as URLs. The number of further referrers is estimated
    with a bitmap of 128 bytes by linear counting (K.-Y. Whang et al., "A linear-time probabilistic counting
    algorithm for database applications", ACM Transactions on Database Systems 15(2), 1990). Adding a referrer
    twice has no effect. The error is about 3 % for up to 2,000 referrers.
    """

    kept: list[str] = field(default_factory=list)
    count: int = 0
    """Number of distinct referrers. It is exact if all referrers are in ``kept``. For more referrers, it is
    an estimate, which is never much above 7,000."""
    bitmap: bytes = b""
    """The bitmap, with a bit for the hash of each referrer that is not in ``kept``; empty if ``kept`` has all
    referrers."""

    def add(self, urls: Iterable[str]) -> bool:
        """Add referrers. Return True if anything changed."""
        changed = False
        for url in urls:
            if url in self.kept:
                continue
            if len(self.kept) < MAX_REFERRERS:
                self.kept.append(url)
                self.count = max(self.count, len(self.kept))
                changed = True
            else:
                changed |= self._mark(url)
        return changed

    def _mark(self, url: str) -> bool:
        bit = bit_of(url)
        bitmap = int.from_bytes(self.bitmap, "big")
        if bitmap >> bit & 1:
            return False
        bitmap |= 1 << bit
        self.bitmap = bitmap.to_bytes(_BYTES, "big")
        # max() keeps a count from another storage that is larger than the estimate
        self.count = max(self.count, MAX_REFERRERS + estimate(bitmap))
        return True


def bit_of(url: str) -> int:
    """Return the index (0 to 1023) of a referrer's bit in the bitmap."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=4).digest(), "big") % _BITS


def estimate(bitmap: int) -> int:
    """Return the estimated number of distinct referrers from the bits that are set in ``bitmap``."""
    clear = max(1, _BITS - bitmap.bit_count())  # without max(), a full bitmap would give an infinite number
    return round(-_BITS * math.log(clear / _BITS))


def referrers_of(page: PageRecord) -> Referrers:
    """Return the referrers of a page record."""
    referrers = Referrers()
    referrers.add(map(clean, page.referrers))
    referrers.count = max(referrers.count, page.referrer_count)
    return referrers
