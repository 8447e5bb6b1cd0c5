"""Computes the weights of the evidence that a page is an article.

    python -m training.evidence [--sets DIR ...] [--formasaurus DIR] [--html DIR ...] [--part dev|test]

The options are those of :mod:`benchmarks.verdict`. The weights are written to
``newsbot/pages/extraction/evidence.json``. The table comes from folds: the pages of a site are judged with
weights that were computed without them. All pages of a site are in one fold.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from benchmarks.verdict import FOLDS, Judged, arguments, fold_of, odds_of, print_all, read_pages

_RIDGE = 3.0
"""Strength of the L2 penalty on the weights of standardised features."""
_WEIGHT_OF_OTHERS = {"home": 0.5, "shop, forum, service": 0.5}
"""Weight of a page by its kind in the fit; 3 for other pages that are not articles, 1 for articles. The pages
of formasaurus are older and simpler than pages of today."""


def fit(rows: Sequence[Judged]) -> dict[str, float]:
    """Return the weights of a logistic regression with an L2 penalty (Newton's method)."""
    names = sorted({name for row in rows for name in row.features})
    table = np.array([[row.features.get(name, 0.0) for name in names] for row in rows])
    wanted = np.array([row.page.article for row in rows], float)
    heavy = np.array([1.0 if row.page.article else _WEIGHT_OF_OTHERS.get(row.page.kind, 3.0) for row in rows])
    mean, spread = table.mean(0), table.std(0)
    spread[spread == 0] = 1.0
    scaled = np.hstack([(table - mean) / spread, np.ones((len(rows), 1))])
    penalty = np.full(len(names) + 1, _RIDGE)
    penalty[-1] = 0.0
    weights = np.zeros(len(names) + 1)
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (heavy * (chance - wanted)) + penalty * weights
        bend = (scaled.T * (heavy * chance * (1 - chance))) @ scaled + np.diag(penalty + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    plain = {name: round(float(value), 3) for name, value in zip(names, weights[:-1] / spread, strict=True)}
    plain[""] = round(float(weights[-1] - (weights[:-1] * mean / spread).sum()), 3)
    return plain


def main() -> None:
    """Read the pages, write the weights, and print the table."""
    options = arguments(__doc__)
    rows = read_pages(options)
    known = [row for row in rows if row.features and not row.alone]
    place = resources.files("newsbot.pages.extraction").joinpath("evidence.json")
    text = json.dumps(fit(known), indent=1, sort_keys=True)
    Path(str(place)).write_text(f"{text}\n", encoding="utf-8")
    of_fold = {number: fit([row for row in known if fold_of(row.page) != number]) for number in range(FOLDS)}
    print_all(rows, [odds_of(row, of_fold[fold_of(row.page)]) for row in rows], options.worst)


if __name__ == "__main__":
    main()
