"""The moments at which a run is measured, and how counts are brought there.

A series has a row every ``step`` units from 0, and two at the end: before and after what happens at that
instant. A row shows the state before what happens at its own instant.
"""

from __future__ import annotations

import numpy as np

from newsbot.simulator.compiled import compiled
from newsbot.simulator.model import Array


def count_rows(end: int, step: int) -> int:
    """Return the number of rows of a series."""
    return -(-end // step) + 2


def row_times(end: int, step: int) -> Array:
    """Return the moment of each row."""
    return np.append(np.arange(0, end, step, dtype=np.int64), [end, end])


@compiled
def row_after(moment: int, end: int, step: int) -> int:
    """Return the first row that shows what happened at ``moment``."""
    # Half the time of a robot goes into this division: 32 bits take a third of what 64 take.
    row = np.uint32(min(moment, end - 1)) // np.uint32(step)
    return int(row) + 1 + (moment >= end)
