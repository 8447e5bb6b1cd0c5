"""Applies decision trees, learned by ``benchmarks/learning.py``, to many rows at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.word_features import Columns

_SIFTED = (5, 8)
"""Steps at which rows that have reached their leaves are set aside: seven in ten at the first, nearly all at
the second.
"""


@dataclass(frozen=True)
class Forest:
    """Boosted trees as arrays over all their nodes.

    ``feature`` is the column that a node compares. Rows with a value up to ``threshold`` go to the second of
    the two ``children``, other rows to the first. A leaf has itself as both children. ``value`` is what a
    leaf adds to the score, in log odds.
    """

    names: tuple[str, ...]
    base: float
    depth: int
    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    children: NDArray[np.int32]
    value: NDArray[np.float32]

    def scores(self, columns: Columns) -> NDArray[np.float32]:
        """Return the log odds of each row."""
        values = np.concatenate([columns[name] for name in self.names])
        count = len(values) // len(self.names)
        node = np.repeat(self.roots, count)
        place = np.tile(np.arange(count, dtype=np.int32), len(self.roots))
        leaves, going = node, np.arange(len(node))
        # Flat arrays and take() need half the time of indexing in two dimensions.
        for step in range(self.depth):
            if step in _SIFTED:
                leaves[going] = node
                inner = np.flatnonzero(self.children.take(2 * node) != node)
                going, node, place = going.take(inner), node.take(inner), place.take(inner)
            low = values.take(self.feature.take(node) * count + place) <= self.threshold.take(node)
            node = self.children.take(2 * node + low)
        leaves[going] = node
        total: NDArray[np.float32] = self.base + self.value.take(leaves).reshape(-1, count).sum(axis=0)
        return total


def from_json(text: str) -> Forest:
    """Read trees from the JSON that ``benchmarks/learning.py`` writes."""
    data = json.loads(text)
    feature = np.array(data["feature"], np.int32)
    itself = np.arange(len(feature), dtype=np.int32)
    sides = [np.where(feature < 0, itself, np.array(data[side], np.int32)) for side in ("right", "left")]
    return Forest(
        names=tuple(data["names"]),
        base=data["base"],
        depth=data["depth"],
        roots=np.array(data["roots"], np.int32),
        feature=np.maximum(feature, 0),
        threshold=np.array(data["threshold"], np.float32),
        children=np.stack(sides, axis=1).astype(np.int32).ravel(),
        value=np.array(data["value"], np.float32),
    )


@cache
def shipped() -> Forest:
    """Return the trees that come with newsbot, read once."""
    return from_json(files("newsbot.extraction.body").joinpath("forest.json").read_text(encoding="utf-8"))
