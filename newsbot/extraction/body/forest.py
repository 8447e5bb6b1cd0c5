"""Applies boosted decision trees to many rows at once.

A row has the features of one piece of text. ``benchmarks/learning.py`` trains the trees.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.word_features import Columns

_SIFTED = (5, 8)
"""Steps before which rows that have reached a leaf are set aside, so that they take no more time.

Seven in ten rows have reached a leaf at the first of these steps, and nearly all at the second.
"""


@dataclass(frozen=True)
class Forest:
    """Boosted trees, stored as arrays over the nodes of all trees.

    ``names`` are the features. ``feature`` is the index of the feature that a node compares. Rows with a
    value up to ``threshold`` go to the second of the two ``children``, other rows to the first. A leaf is its
    own child on both sides. ``value`` is the number that a leaf adds to the score, in log odds. ``base`` is
    the score before all trees, ``depth`` the depth of the deepest tree, and ``roots`` the first node of each
    tree.
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
        """Return the log odds of each row. ``columns`` has the values of all rows by feature."""
        values = np.concatenate([columns[name] for name in self.names])
        count = len(values) // len(self.names)
        node = np.repeat(self.roots, count)
        place = np.tile(np.arange(count, dtype=np.int32), len(self.roots))
        leaves, going = node, np.arange(len(node))
        # In each step, every row moves down one node in every tree. A row that is in a leaf stays there. Flat
        # arrays and take() need half the time of indexing in two dimensions.
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
    """Return the trees in the JSON that ``benchmarks/learning.py`` writes."""
    data = json.loads(text)
    feature = np.array(data["feature"], np.int32)  # negative for leaves
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
    """Return the trees that come with newsbot. They are read once."""
    return from_json(files("newsbot.extraction.body").joinpath("forest.json").read_text(encoding="utf-8"))
