"""Under what a text is looked up: the few of its runs of five words whose hashes are lowest.

A text and what was cut from it, or built around it, share runs; which of them have the lowest hashes both
decide alike (A. Broder, On the resemblance and containment of documents, 1997). Of the sixteen of the longer
text as large a share lies in the shorter one as of all its runs: with a half shared at least two are nearly
always found (.9997), with a quarter in 94 of 100 cases. Bands of MinHash values know only how alike two texts
are as wholes, and find hardly any of these. Runs are of five words because shorter ones are formulas of the
language, and longer ones do not survive an editor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RUN = 5
"""Words in a run."""
PASSAGES = 16
"""Runs of a text under which it is found."""

_STEP = np.uint64(0xD6E8FEB86659FD93)  # odd: the sums of a run's two ends make one hash
_FIRST = 4 * PASSAGES


def lowest_runs(sums: NDArray[np.uint64], shingle: int) -> NDArray[np.uint64]:
    """Return the lowest distinct hashes of runs, at most :data:`PASSAGES`, in order.

    ``sums``: a hash for each run of ``shingle`` words as the text has them; the upper bits are the good ones.
    """
    apart = RUN - shingle
    runs = sums[:-apart] * _STEP
    runs += sums[apart:]
    runs.sort()
    first = runs[:_FIRST]
    if not np.all(first[1:] != first[:-1]):  # a text that repeats itself
        return np.unique(runs)[:PASSAGES].copy()
    return first[:PASSAGES].copy()
