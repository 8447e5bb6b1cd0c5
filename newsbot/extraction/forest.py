"""Decision trees that were learned elsewhere (``benchmarks/learning.py``), applied to many rows at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.clues import Columns


@dataclass(frozen=True)
class Forest:
    """Boosted trees as arrays over all their nodes.

    ``feature`` is the column a node looks at, -1 for a leaf; rows with a value up to ``threshold`` go to
    ``left``, others to ``right``. ``value`` is what a leaf adds to the score, in log odds.
    """

    names: tuple[str, ...]
    base: float
    depth: int
    roots: NDArray[np.intp]
    feature: NDArray[np.intp]
    threshold: NDArray[np.float32]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: NDArray[np.float32]

    def scores(self, columns: Columns) -> NDArray[np.float32]:
        """Return the log odds of each row."""
        rows = np.stack([columns[name] for name in self.names], axis=1)
        place = np.arange(len(rows))[:, None]
        node = np.repeat(self.roots[None, :], len(rows), axis=0)
        for _ in range(self.depth):
            feature = self.feature[node]
            low = rows[place, feature] <= self.threshold[node]
            node = np.where(feature < 0, node, np.where(low, self.left[node], self.right[node]))
        total: NDArray[np.float32] = self.base + self.value[node].sum(axis=1)
        return total


def from_json(text: str) -> Forest:
    """Read what ``benchmarks/learning.py`` wrote."""
    data = json.loads(text)
    return Forest(
        names=tuple(data["names"]),
        base=data["base"],
        depth=data["depth"],
        roots=np.array(data["roots"], np.intp),
        feature=np.array(data["feature"], np.intp),
        threshold=np.array(data["threshold"], np.float32),
        left=np.array(data["left"], np.intp),
        right=np.array(data["right"], np.intp),
        value=np.array(data["value"], np.float32),
    )


@cache
def shipped() -> Forest:
    """Return the trees that come with newsbot, read once."""
    return from_json(files("newsbot.extraction").joinpath("forest.json").read_text(encoding="utf-8"))
