"""Learns a few shallow decision trees that correct a first guess (gradient boosting of the logistic loss).

The values of leaves and the gains of splits follow T. Chen, C. Guestrin, "XGBoost: A Scalable Tree Boosting
System" (KDD 2016), equations 5 and 7. They are computed from first and second derivatives of the loss.
:data:`SHRINKAGE` is the regularization (lambda). The first guess is the estimate of
:mod:`newsbot.rules.shape`, which is the same for all sites. With few examples the result stays near this
guess. With many examples it can differ. A trait is a boolean feature of a URL (:mod:`newsbot.rules.traits`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

ROUNDS = 8
"""Maximum number of trees."""
RATE = 0.5
"""Factor for the value of each tree (learning rate)."""
MAX_DEPTH = 4
"""Maximum number of tests on the way to a leaf."""
MIN_LEAF = 2
"""Minimum number of examples on each side of a split."""
SHRINKAGE = 0.5
"""Regularization of the values of leaves (lambda in the paper)."""
MIN_GAIN = 0.5
"""Minimum reduction of the loss by a split, without the factor 1/2 of the paper."""
_FLAT = 1e-3
"""Added to second derivatives. They are almost 0 for confident guesses, which could not be corrected then."""

Names = frozenset[str]
"""The traits of one URL."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: a test for a trait with two branches, or a leaf with log-odds.

    Leaves have no ``trait``.
    """

    odds: float = 0.0
    trait: str | None = None
    yes: Node | None = None
    no: Node | None = None

    def value(self, names: Names) -> float:
        """Return the log-odds of the leaf for a URL with these traits."""
        node = self
        while node.trait is not None and node.yes is not None and node.no is not None:
            node = node.yes if node.trait in names else node.no
        return node.odds

    def leaves(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
        """Yield for each leaf the conditions that lead to it, and its log-odds."""
        if self.trait is None or self.yes is None or self.no is None:
            yield above, self.odds
            return
        yield from self.yes.leaves((*above, self.trait))
        yield from self.no.leaves((*above, "not " + self.trait))

    def plain(self) -> Any:
        """Return the tree as a JSON-able value: a number for a leaf, else ``[trait, yes, no]``."""
        if self.trait is None or self.yes is None or self.no is None:
            return round(self.odds, 4)
        return [self.trait, self.yes.plain(), self.no.plain()]


def from_plain(value: Any, depth: int = MAX_DEPTH) -> Node:
    """Return the tree for a value of :meth:`Node.plain`. Raises ``ValueError`` for other values."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Node(odds=float(value))
    if depth > 0 and isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
        return Node(0.0, value[0], from_plain(value[1], depth - 1), from_plain(value[2], depth - 1))
    raise ValueError("the learned rule cannot be read")


def boost(
    names: Sequence[Names],
    labels: Sequence[bool],
    first: Sequence[float],
    trust: float,
    rounds: int = ROUNDS,
) -> list[Node]:
    """Return trees that correct the first guess: their sum, times RATE, is to be added to it.

    ``names``, ``labels`` and ``first`` have one item per URL: its traits, whether it is an article, and the
    log-odds of the first guess. Automatic labels are sometimes wrong. So a label counts less if the
    first guess contradicts it. If the guess has log-odds of ``trust`` for the other label, the label counts
    half.
    """
    weights = [
        1.0 / (1.0 + math.exp(min(30.0, (-odds if label else odds) - trust)))
        for odds, label in zip(first, labels, strict=True)
    ]
    odds = list(first)
    trees: list[Node] = []
    for _ in range(rounds):
        slopes, bends = _derivatives(odds, labels, weights)
        tree = _grow(list(range(len(names))), names, slopes, bends, MAX_DEPTH)
        if tree.trait is None and abs(tree.odds) < _FLAT:
            break
        trees.append(tree)
        odds = [before + RATE * tree.value(own) for before, own in zip(odds, names, strict=True)]
    return trees


def _derivatives(
    odds: Sequence[float], labels: Sequence[bool], weights: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the first and the second derivatives of the weighted loss by the log-odds of each URL."""
    slopes, bends = [], []
    for one, label, weight in zip(odds, labels, weights, strict=True):
        chance = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, one))))
        slopes.append(weight * (chance - label))
        bends.append(weight * (chance * (1.0 - chance) + _FLAT))
    return slopes, bends


def _grow(
    members: list[int], names: Sequence[Names], slopes: Sequence[float], bends: Sequence[float], depth: int
) -> Node:
    """Return the best tree for these members (indexes of URLs), with at most ``depth`` tests to a leaf."""
    slope, bend = sum(slopes[one] for one in members), sum(bends[one] for one in members)
    trait = _best(members, names, slopes, bends, (slope, bend)) if depth else None
    if trait is None:
        return Node(odds=-slope / (bend + SHRINKAGE))
    yes = [one for one in members if trait in names[one]]
    no = [one for one in members if trait not in names[one]]
    return Node(
        0.0,
        trait,
        _grow(yes, names, slopes, bends, depth - 1),
        _grow(no, names, slopes, bends, depth - 1),
    )


def _best(
    members: list[int],
    names: Sequence[Names],
    slopes: Sequence[float],
    bends: Sequence[float],
    whole: tuple[float, float],
) -> str | None:
    """Return the trait that splits the members best, or None if no split gains MIN_GAIN.

    ``whole`` has the sums of the first and second derivatives over all members.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for one in members:
        for trait in names[one]:
            found = sums[trait]
            found[0] += slopes[one]
            found[1] += bends[one]
            found[2] += 1
    slope, bend = whole
    before = slope * slope / (bend + SHRINKAGE)
    best, gain = None, MIN_GAIN
    for trait, (part, bent, number) in sorted(sums.items()):  # sorted, so that the tree is always the same
        if number < MIN_LEAF or len(members) - number < MIN_LEAF:
            continue
        # Only the sums over the members with the trait were collected. The sums over the other members are
        # the difference to the whole.
        rest = slope - part
        gained = part * part / (bent + SHRINKAGE) + rest * rest / (bend - bent + SHRINKAGE) - before
        if gained > gain + 1e-9:
            best, gain = trait, gained
    return best
