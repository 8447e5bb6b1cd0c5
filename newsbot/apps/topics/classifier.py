"""Learns from texts whether an article is in a category, with a probability.

A text is a vector of its stems: (1 + ln n) · ln(N / df) for a stem that occurs n times, and in df of N texts,
divided by the length of the vector. Logistic regression with an L2 penalty finds a weight for each stem. It
is minimised by Nesterov's accelerated gradient method ("A method of solving a convex programming problem with
convergence rate O(1/k²)", 1983).

The texts are divided into parts, so that all texts of a site are in one part. The texts of each part are
judged with what was learned from the other parts. These judgements give the figures, the threshold and the
probability (J. Platt, "Probabilistic outputs for support vector machines", 1999): they are about sites that
were not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_STEMS = 7_000
"""Maximum number of stems that a model has. The most frequent stems are used."""
PARTS = 10
STEPS = 100
PENALTY = 0.1
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Model:
    """What was learned about one category."""

    stems: Mapping[str, tuple[float, float]]
    """Stem -> ln(N / df), and the weight."""
    bias: float
    slope: float
    """The probability is 1 / (1 + exp(-(slope · judgement + offset)))."""
    offset: float
    threshold: float
    """An article with at least this probability is in the category."""

    def probability(self, counts: Mapping[str, int]) -> float:
        """Return the probability that a text is in the category. ``counts`` are its stems."""
        length = total = 0.0
        for stem, number in counts.items():
            if (known := self.stems.get(stem)) is not None:
                value = (1 + log(number)) * known[0]
                length += value * value
                total += value * known[1]
        judgement = self.bias + (total / sqrt(length) if length else 0.0)
        return 1 / (1 + exp(-max(-50.0, min(50.0, self.slope * judgement + self.offset))))


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of articles that were judged rightly and wrongly."""

    right: int = 0
    """Articles of the category that were found."""
    wrong: int = 0
    """Articles that were found, and are not in the category."""
    missed: int = 0
    """Articles of the category that were not found."""

    @property
    def precision(self) -> float:
        """The share of the found articles that are in the category."""
        return self.right / (self.right + self.wrong) if self.right else 0.0

    @property
    def recall(self) -> float:
        """The share of the articles of the category that were found."""
        return self.right / (self.right + self.missed) if self.right else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (2 * self.right + self.wrong + self.missed) if self.right else 0.0


def figures(found: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Figures:
    """Count the articles that were ``found``, and those that are ``wanted``."""
    return Figures(int((found & wanted).sum()), int((found & ~wanted).sum()), int((~found & wanted).sum()))


class Texts:
    """Texts as vectors: a sparse matrix with a row for each text."""

    def __init__(self, counts: Sequence[Mapping[str, int]]) -> None:
        df = Counter(chain.from_iterable(counts))
        known = sorted((-number, stem) for stem, number in df.items() if number > 1)[:MAX_STEMS]
        self.idf = {stem: log(len(counts) / -number) for number, stem in known}
        self.size = len(counts)
        place = {stem: number for number, stem in enumerate(self.idf)}
        cells = [
            (row, place[stem], (1 + log(number)) * self.idf[stem])
            for row, of in enumerate(counts)
            for stem, number in of.items()
            if stem in place
        ]
        rows, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
        self.rows: Numbers = np.array(rows, np.intp)
        self.columns: Numbers = np.array(columns, np.intp)
        self.values: Floats = np.array(values, np.float64)
        lengths = np.sqrt(_sums(self.rows, self.values**2, self.size))
        self.values /= np.where(lengths > 0, lengths, 1)[self.rows]

    def judged(self, weights: Floats, bias: float) -> Floats:
        """Return the judgement of each text."""
        return _sums(self.rows, self.values * weights[self.columns], self.size) + bias

    def learned(self, wanted: NDArray[np.bool_], used: NDArray[np.bool_]) -> tuple[Floats, float]:
        """Return the weights and the bias that are learned from the ``used`` texts."""
        cells = used[self.rows]
        rows, columns, values = self.rows[cells], self.columns[cells], self.values[cells]
        # Both classes have the same total weight, however rare the category is.
        share = (wanted & used).sum() / used.sum()
        loss = np.where(wanted, 0.5 / share, 0.5 / (1 - share)) * used
        return _minimum(Cells(rows, columns, values), loss, wanted, len(self.idf))


class Cells(NamedTuple):
    """The values of a sparse matrix that are not 0."""

    rows: Numbers
    columns: Numbers
    values: Floats


def _sums(places: Numbers, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each place."""
    found: Floats = np.bincount(places, values, size).astype(np.float64)
    return found


def _minimum(cells: Cells, loss: Floats, wanted: NDArray[np.bool_], size: int) -> tuple[Floats, float]:
    """Return the weights and the bias with the least loss. ``loss`` is the weight of each text."""
    rows, columns, values = cells

    def gradient(errors: Floats) -> Floats:
        return np.append(_sums(columns, values * errors[rows], size), errors.sum())

    def judged(at: Floats) -> Floats:
        return _sums(rows, values * at[columns], len(loss)) + float(at[-1])

    penalty = np.append(np.full(size, PENALTY), 0.0)
    # Power iteration: the largest curvature of the loss limits the length of a step.
    direction, curvature = np.ones(size + 1), 1.0
    for _ in range(20):
        direction = gradient(loss * judged(direction / np.linalg.norm(direction)))
        curvature = float(np.linalg.norm(direction))
    step = 1 / (0.25 * 1.05 * curvature + PENALTY)
    now = ahead = np.zeros(size + 1)
    pace = 1.0
    for _ in range(STEPS):
        errors = loss * (1 / (1 + np.exp(-judged(ahead))) - wanted)
        after = ahead - step * (gradient(errors) + penalty * ahead)
        pace, before = (1 + sqrt(1 + 4 * pace * pace)) / 2, pace
        ahead = after + (before - 1) / pace * (after - now)
        now = after
    return now[:-1], float(now[-1])


@dataclass(frozen=True, slots=True)
class Judged:
    """The texts, each judged with what was learned from other sites."""

    probabilities: Floats
    found: NDArray[np.bool_]
    """The threshold of each part was chosen with the other parts."""


def learn(
    counts: Sequence[Mapping[str, int]],
    wanted: Sequence[bool],
    sites: Sequence[str],
    sure: Sequence[bool],
) -> tuple[Model, Judged]:
    """Learn a category from texts. ``counts`` are their stems, and ``wanted`` says which are in the category.

    ``sure`` says of which texts this is known for sure: the threshold is chosen with them. There must be
    texts in the category and others, and both from at least two parts (:func:`parts_of`).
    """
    texts, truth, known = Texts(counts), np.array(wanted), np.array(sure)
    parts = parts_of(sites, wanted)
    scores = np.zeros(len(truth))
    for part in range(PARTS):
        weights, bias = texts.learned(truth, parts != part)
        scores[parts == part] = texts.judged(weights, bias)[parts == part]
    slope, offset = _calibrated(scores, truth)
    probabilities = 1 / (1 + np.exp(-np.clip(slope * scores + offset, -50, 50)))
    found = np.zeros(len(truth), bool)
    for part in range(PARTS):
        here = parts == part
        found[here] = probabilities[here] >= _threshold(probabilities, truth, known & ~here)
    weights, bias = texts.learned(truth, np.ones(len(truth), bool))
    stems = {
        stem: (round(idf, 3), round(float(weight), 4))
        for (stem, idf), weight in zip(texts.idf.items(), weights, strict=True)
    }
    model = Model(stems, bias, slope, offset, _threshold(probabilities, truth, known))
    return model, Judged(probabilities, found)


def parts_of(sites: Sequence[str], wanted: Sequence[bool]) -> Numbers:
    """Return the part of each text. All texts of a site are in one part, unless there are too few sites.

    The parts get about the same number of texts of the category, and then of other texts.
    """
    inside = {site for site, one in zip(sites, wanted, strict=True) if one}
    names = list(sites) if len(inside) > 1 else [str(number) for number in range(len(sites))]
    numbers: Counter[tuple[str, bool]] = Counter(zip(names, wanted, strict=True))
    load = [[0, 0] for _ in range(PARTS)]
    chosen: dict[str, int] = {}
    for name in sorted(set(names), key=lambda one: (-numbers[one, True], -numbers[one, False], one)):
        inner, outer = numbers[name, True], numbers[name, False]
        # sites without an article of the category come last, and fill the parts up
        part = chosen[name] = min(range(PARTS), key=lambda one: load[one] if inner else load[one][::-1])
        load[part][0] += inner
        load[part][1] += outer
    return np.array([chosen[name] for name in names], np.intp)


def _calibrated(scores: Floats, wanted: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and offset that turn judgements into probabilities."""
    scale = float(np.abs(scores).max()) or 1.0
    cells = Cells(np.arange(len(scores)), np.zeros(len(scores), np.intp), scores / scale)
    slope, offset = _minimum(cells, np.ones(len(scores)), wanted, 1)
    return float(slope[0]) / scale, offset


def _threshold(probabilities: Floats, wanted: NDArray[np.bool_], used: NDArray[np.bool_]) -> float:
    """Return the threshold with the best F1; of several, the one nearest to one half."""
    return max(
        THRESHOLDS,
        key=lambda one: (figures(probabilities[used] >= one, wanted[used]).f1, -abs(one - 0.5)),
    )
