"""Who links to a page, in bounded room: the first few by name, the others by an estimate.

Beyond the first :data:`MAX_REFERRERS` the distinct ones are counted in a bitmap (linear counting,
Whang et al., A linear-time probabilistic counting algorithm, 1990): adding one twice is adding it
once, and the page that everything links to costs 128 bytes. The error is about 3 % up to 2,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from newsbot.items import PageRecord
from newsbot.storage.base import MAX_REFERRERS
from newsbot.text.words import clean

_BYTES = 128
_BITS = 8 * _BYTES


def bit_of(url: str) -> int:
    """Return which bit of the bitmap stands for a referrer."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=4).digest(), "big") % _BITS


@dataclass(slots=True)
class Referrers:
    """The referrers of one page."""

    kept: list[str] = field(default_factory=list)
    count: int = 0
    """Distinct referrers: exact while all are kept, then an estimate (at most about 7,000)."""
    bitmap: bytes = b""

    def add(self, urls: Iterable[str]) -> bool:
        """Add some; True if anything changed."""
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
        self.count = max(self.count, MAX_REFERRERS + estimate(bitmap))
        return True


def estimate(bitmap: int) -> int:
    """Return how many referrers have set the bits of ``bitmap``."""
    clear = max(1, _BITS - bitmap.bit_count())
    return round(-_BITS * math.log(clear / _BITS))


def referrers_of(page: PageRecord) -> Referrers:
    """Return the referrers that a record gives."""
    referrers = Referrers()
    referrers.add(map(clean, page.referrers))
    referrers.count = max(referrers.count, page.referrer_count)
    return referrers
