"""What was seen lately is not taken twice: nonces of notices, bodies that a hub sends again."""

from __future__ import annotations

from collections import OrderedDict

from newsbot.clock import Clock

MAX_SEEN = 100_000


class SeenOnce:
    """Remembers keys for ``seconds``, at most MAX_SEEN of them: the oldest are forgotten first."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def is_new(self, key: bytes) -> bool:
        """Return True the first time that ``key`` is given, and again when it is forgotten."""
        self._forget()
        if key in self._seen:
            return False
        self._seen[key] = self._clock() + self._seconds
        return True

    def knows(self, key: bytes) -> bool:
        """Return True if :meth:`is_new` was asked for ``key`` within the time."""
        self._forget()
        return key in self._seen

    def _forget(self) -> None:
        now = self._clock()
        while self._seen and (len(self._seen) >= MAX_SEEN or next(iter(self._seen.values())) <= now):
            self._seen.popitem(last=False)
