"""Limits the fetches that notices may cause: a token bucket for each host (and one for each sender).

A bucket holds ``burst`` tokens and gains ``per_hour``; each accepted notice takes one. The trust in a
notifier (:mod:`newsbot.push.trust`) scales how much it may take from its own bucket at a host, and how far it
may empty the bucket of the host. So an unproved notifier cannot use up the budget of others.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from newsbot.clock import Clock

MAX_BUCKETS = 50_000
"""The most buckets. The least recently used one is dropped and would start full again."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Budget:
    """Token buckets by key."""

    def __init__(self, per_hour: float, burst: float, clock: Clock) -> None:
        self._rate = per_hour / 3600
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str, share: float = 1.0, *, reserve: float = 0.0) -> bool:
        """Take a token of ``key``; return False if there is none.

        ``share`` (0 to 1): a notifier with little trust pays ``1 / share`` tokens; with 0 it gets nothing.
        ``reserve`` (0 to 1): the part of a full bucket that must be left for others.
        """
        if share <= 0:
            return False
        now = self._clock()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        passed = max(0.0, now - bucket.at)  # a clock that was ahead may have been corrected
        bucket.tokens = min(self._burst, bucket.tokens + passed * self._rate)
        bucket.at = now
        self._buckets[key] = bucket
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        price = min(1 / share, self._burst)  # a full bucket always pays for one
        if bucket.tokens < price + min(reserve * self._burst, self._burst - 1):
            return False
        bucket.tokens -= price
        return True
