"""Parts of a report: lists of the largest things, and quantiles."""

from __future__ import annotations

from array import array
from heapq import nlargest
from operator import itemgetter
from typing import Any

import numpy as np


class Top:
    """The things with the largest ``key``, at most ``limit``; all are counted."""

    def __init__(self, limit: int, key: str, *more: str) -> None:
        self._limit, self._key = limit, itemgetter(key, *more)
        self._kept: list[dict[str, Any]] = []
        self.count = 0

    def add(self, thing: dict[str, Any]) -> None:
        """Count a thing, and keep it if it is large."""
        self.count += 1
        self._kept.append(thing)
        if len(self._kept) > 2 * self._limit:
            self._kept = self.listed()

    def listed(self) -> list[dict[str, Any]]:
        """Return what is kept, the largest first."""
        return nlargest(self._limit, self._kept, key=self._key)


def quantiles(millis: array[float]) -> dict[str, int | None]:
    """Return the median and the 95th percentile of times in milliseconds."""
    ordered = np.sort(np.frombuffer(millis, np.float32)) if millis else ()
    if not len(ordered):
        return {"median_milliseconds": None, "p95_milliseconds": None}
    last = len(ordered) - 1
    return {
        "median_milliseconds": round(float(ordered[last // 2])),
        "p95_milliseconds": round(float(ordered[-(-last * 95 // 100)])),
    }
