"""Counts side by side in one number: all are added in one addition, and numpy reads them in the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_BITS = 16
"""A count may be 65,535."""


def tally(places: Iterable[int]) -> int:
    """Return a number that counts 1 at each of ``places`` (from 0 on); such numbers may be added."""
    return sum(1 << (_BITS * place) for place in places)


def counts(tallies: Sequence[int], places: int) -> NDArray[np.uint16]:
    """Return one row for each number, with the counts at its first ``places``."""
    size = places * _BITS // 8
    whole = b"".join([one.to_bytes(size, "little") for one in tallies])
    return np.frombuffer(whole, "<u2").reshape(-1, places)
