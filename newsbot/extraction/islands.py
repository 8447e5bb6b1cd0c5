"""Weak islands: text far from the main stretch of an article that is judged much less surely than it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GAP = 12
"""Pieces that lie between two islands and belong to neither."""
WEAK = 0.5
"""An island whose mean score is under so much of the main one's is none of the article."""
NONE = -1.5
"""What its pieces score then, in log odds."""


def without_weak_islands(
    scores: NDArray[np.float32], lengths: NDArray[np.float32], found: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the scores (log odds) of the pieces of a page, those of weak islands lowered.

    ``lengths`` is in letters; ``found`` says which pieces another extractor took. An island that it took for
    the better part is left as it is.

    Pieces above 0 make islands. Notes on the law, another article below, rules for comments look like prose
    and are judged so; what gives them away is that the article stands elsewhere and is far surer. The main
    island is that with most score over all its letters.
    """
    taken = np.flatnonzero(scores > 0)
    islands = np.split(taken, np.flatnonzero(np.diff(taken) > GAP) + 1)
    if len(islands) < 2:
        return scores
    worths = [float((scores[island] * lengths[island]).sum()) for island in islands]
    means = [
        worth / (float(lengths[island].sum()) or 1.0) for worth, island in zip(worths, islands, strict=True)
    ]
    main = int(np.argmax(worths))
    result = scores.copy()
    for mean, island in zip(means, islands, strict=True):
        taken_too = float(lengths[island][found[island]].sum())
        if mean < WEAK * means[main] and taken_too < 0.5 * float(lengths[island].sum()):
            result[island] = NONE
    return result
