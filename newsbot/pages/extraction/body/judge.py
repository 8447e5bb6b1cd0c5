"""Decides which pieces of a page belong to its article, by boosted trees.

``training/forest.py`` trains the trees and writes them to ``forest.json``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from newsbot.pages.extraction.body.features import Columns, Marks, View, columns_of, distance

SCALE = 1000
"""Factor from log odds to scores. Scores are whole numbers, so their sums are the same on every machine."""
NEVER = -9 * SCALE
"""The score of pieces that are not judged (:attr:`View.is_open`)."""
UNSURE = -300
"""The score above which a piece belongs to the article. A limit of 0 gives the same F1, but less recall."""
UNLIKELY = -2500
"""The score above which some pieces between taken pieces belong to the article too (:func:`taken`)."""
LEAVES = 8
"""Maximum number of leaves of a tree, so that a set of leaves is one byte."""
# byte & -byte keeps only the lowest bit
_FIRST = np.array([(byte & -byte).bit_length() - 1 for byte in range(256)], np.int16)
"""The position of the lowest bit of each byte value."""
_MOST_ROWS = 500
"""Maximum number of rows that are scored at once."""
_MOST_OF_KIND = 0.7
"""If the judge takes at least this share of the prose in boxes of one kind, it takes the rest too."""
_BELOW = 3
"""Maximum number of pieces from a heading to the text below it."""


@dataclass(frozen=True)
class Forest:
    """Boosted trees that are evaluated with sets of leaves instead of paths.

    The leaves of a tree are numbered from left to right. A node compares a column, ``feature``, with a
    ``threshold``. A row with a greater value cannot reach the leaves on the left of the node. ``mask`` has
    the bits of all other leaves. The leaf of a row is the first leaf that no node of the tree excludes. Each
    tree has ``LEAVES - 1`` nodes; unused nodes exclude no leaf. ``value`` is the number that a leaf adds to
    the score.

    Source: Lucchese et al., QuickScorer: a fast algorithm to rank documents with additive ensembles of
    regression trees, SIGIR 2015.
    """

    names: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    mask: NDArray[np.uint8]
    value: NDArray[np.int32]

    def scores(self, columns: Columns) -> NDArray[np.int64]:
        """Return the score of each row, in log odds times :data:`SCALE`."""
        values = np.empty((len(self.names), len(columns[self.names[0]])), np.float32)
        for number, name in enumerate(self.names):
            values[number] = columns[name]
        # The rows are scored in parts, because each row temporarily takes about 12 kB.
        parts = [
            self._scores(values[:, first : first + _MOST_ROWS])
            for first in range(0, values.shape[1], _MOST_ROWS)
        ]
        return np.concatenate(parts)

    def _scores(self, values: NDArray[np.float32]) -> NDArray[np.int64]:
        firsts = np.arange(0, len(self.value), LEAVES)[:, np.newaxis]
        # one row per tree, one column per piece
        excluded = np.zeros((len(firsts), values.shape[1]), np.uint8)
        for node in range(LEAVES - 1):
            of_trees = slice(node, None, LEAVES - 1)
            greater = values.take(self.feature[of_trees], axis=0) > self.threshold[of_trees, np.newaxis]
            # A product with 0 or 1 is several times faster than np.where().
            excluded |= greater.view(np.uint8) * ~self.mask[of_trees, np.newaxis]
        leaves = firsts + _FIRST.take(~excluded)
        total: NDArray[np.int64] = self.value.take(leaves).sum(axis=0, dtype=np.int64)
        return total


def from_json(text: str) -> Forest:
    """Return the forest from the JSON that ``training/forest.py`` wrote."""
    data = json.loads(text)
    return Forest(
        names=tuple(data["names"]),
        feature=np.array(data["feature"], np.int32),
        threshold=np.array(data["threshold"], np.float32),
        mask=np.array(data["mask"], np.uint8),
        value=np.array(data["value"], np.int32),
    )


@cache
def shipped() -> Forest:
    """Return the trees of ``forest.json``. They are read once."""
    return from_json(
        files("newsbot.pages.extraction.body").joinpath("forest.json").read_text(encoding="utf-8")
    )


def taken(view: View) -> Marks:
    """Return True for the pieces that belong to the article.

    These are the pieces with a score above :data:`UNSURE`. Between them, a score above :data:`UNLIKELY` is
    enough for two sorts of pieces. The first sort is prose in boxes of one kind if most prose in these boxes
    is taken. This keeps blocks of prose whole. The second sort is headings just above taken pieces. Prose
    just above the headline, in the same box, is the lead.
    """
    scores = judge(view)
    marks: Marks = scores > UNSURE
    counts = np.cumsum(marks)
    between = (scores > UNLIKELY) & (counts > 0) & (counts < marks.sum())
    held = np.bincount(view.kind, np.where(marks, view.prose, 0))
    mostly = held >= _MOST_OF_KIND * np.bincount(view.kind, view.prose)
    block: Marks = marks | (between & (view.prose > 0) & mostly[view.kind])
    above = distance(np.flatnonzero(block), view.count, ahead=True) <= _BELOW
    headings: Marks = between & above & view.headings & ~view.titles
    return block | headings | (_leads(view) & (scores > UNLIKELY))


def _leads(view: View) -> Marks:
    """True for prose without links that stands just above the headline, in the same box."""
    marks = np.zeros(view.count, np.bool_)
    at = view.headline
    if at and view.prose[at - 1] and view.ends[at - 1] and not view.linked[at - 1]:
        marks[at - 1] = view.parent[view.box[at - 1]] == view.parent[view.box[at]]
    return marks


def judge(view: View) -> NDArray[np.int64]:
    """Return the score of each piece of a page: the log odds that it belongs to the article.

    The scores are computed once and stored in ``view.scores``.
    """
    if view.scores is None:
        scores = np.full(view.count, NEVER, np.int64)
        if view.count and view.is_open.any():
            scores[view.is_open] = shipped().scores(columns_of(view))
        view.scores = scores
    return view.scores
