"""Limits the fetches that notices may cause, by token buckets: one for each host and one for each sender.

A bucket holds at most ``burst`` tokens and gains ``per_hour`` tokens per hour. Each accepted notice takes a
token from the bucket of its sender and from the bucket of its host. The trust in a notifier
(:mod:`newsbot.push.trust`) limits how many tokens it may take from its own bucket, and how far it may empty
the bucket of the host. A new or bad notifier therefore cannot use up the budget of other notifiers.
"""

from __future__ import annotations

from dataclasses import dataclass

from newsbot.clock import Clock
from newsbot.items import Bounded

MAX_BUCKETS = 50_000
"""Maximum number of buckets. Beyond it, the least recently used bucket is dropped. It starts full again."""


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
        passed = max(0.0, now - bucket.at)  # would be negative after a clock was set back
        bucket.tokens = min(self._burst, bucket.tokens + passed * self._rate)
        bucket.at = now
        price = min(1 / share, self._burst)  # a full bucket is always enough for one notice
        if bucket.tokens < price + min(reserve * self._burst, self._burst - 1):
            return False
        bucket.tokens -= price
        return True
