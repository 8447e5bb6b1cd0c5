"""Decides which pieces of a page belong to its article, by boosted trees.

``benchmarks/learning.py`` trains the trees and writes them to ``forest.json``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.features import Columns, View, columns_of

SCALE = 1000
"""Scores are whole numbers, this many per unit of log odds, so their sums are the same on every machine."""
NEVER = -9 * SCALE
"""The score of pieces that are not judged (:attr:`View.is_open`)."""
_SIFTED = (5, 8)
"""Steps down the trees after which rows that have reached a leaf are set aside."""


@dataclass(frozen=True)
class Forest:
    """Boosted trees as arrays over all their nodes.

    ``feature`` is the number of the column that a node compares. Rows with a value up to ``threshold`` go to
    the second of its two ``children``, other rows to the first. Both children of a leaf are the leaf itself.
    ``value`` is what a leaf adds to the score.
    """

    names: tuple[str, ...]
    depth: int
    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    children: NDArray[np.int32]
    value: NDArray[np.int32]

    def scores(self, columns: Columns) -> NDArray[np.int64]:
        """Return the score of each row, in log odds times :data:`SCALE`."""
        values = np.concatenate([columns[name] for name in self.names])
        count = len(values) // len(self.names)
        node = np.repeat(self.roots, count)
        place = np.tile(np.arange(count, dtype=np.int32), len(self.roots))
        leaves, going = node, np.arange(len(node))
        # All trees and rows go down together. Flat arrays and take() need half the time of 2D indexing.
        for step in range(self.depth):
            if step in _SIFTED:
                leaves[going] = node
                inner = np.flatnonzero(self.children.take(2 * node) != node)
                going, node, place = going.take(inner), node.take(inner), place.take(inner)
            low = values.take(self.feature.take(node) * count + place) <= self.threshold.take(node)
            node = self.children.take(2 * node + low)
        leaves[going] = node
        total: NDArray[np.int64] = self.value.take(leaves).reshape(-1, count).sum(axis=0, dtype=np.int64)
        return total


def from_json(text: str) -> Forest:
    """Return the forest that ``benchmarks/learning.py`` has written as JSON."""
    data = json.loads(text)
    feature = np.array(data["feature"], np.int32)
    itself = np.arange(len(feature), dtype=np.int32)
    sides = [np.where(feature < 0, itself, np.array(data[side], np.int32)) for side in ("right", "left")]
    return Forest(
        names=tuple(data["names"]),
        depth=data["depth"],
        roots=np.array(data["roots"], np.int32),
        feature=np.maximum(feature, 0),
        threshold=np.array(data["threshold"], np.float32),
        children=np.stack(sides, axis=1).astype(np.int32).ravel(),
        value=np.array(data["value"], np.int32),
    )


@cache
def shipped() -> Forest:
    """Return the trees of ``forest.json``. They are read once."""
    return from_json(files("newsbot.extraction.body").joinpath("forest.json").read_text(encoding="utf-8"))


def judge(view: View) -> NDArray[np.int64]:
    """Return the score of each piece of a page. A piece with a score above 0 belongs to the article.

    The scores are computed once and stored in ``view.scores``.
    """
    if view.scores is None:
        scores = np.full(view.count, NEVER, np.int64)
        if view.count and view.is_open.any():
            scores[view.is_open] = shipped().scores(columns_of(view))
        view.scores = scores
    return view.scores
