"""The global prior, fitted on some domains and judged on others.

A logistic regression over the features of :mod:`newsbot.pages.rules.shape`. A person has chosen the sign of
each feature (:data:`SIGNS`); its weight is fitted. Domains differ more than links of one domain, so the fit
is kept near the signs (:data:`FAITH`), and the weight of a domain is the square root of the number of its
links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.pages.rules.shape import WEIGHTS, features

FAITH = 25.0
BIAS = -1.0
_STEPS = 60
_SHORT = {
    f"{words} at depth {depth}": -1.0 if words == 3 else -2.0 for words in (1, 2, 3) for depth in (1, 2, 3, 4)
}
SIGNS = _SHORT | {
    "6 words": 3.0,
    "5 words": 3.0,
    "4 words": 2.0,
    "words and number": 1.0,
    "number": 2.0,
    "number at top": 1.0,
    "code": 2.0,
    "date": 3.0,
    "month": 2.0,
    "article": 2.0,
    "query names item": 2.0,
    "media": -1.0,
    "list above": -2.0,
    "utility above": -2.0,
    "query lists": -2.0,
    "front page": -3.0,
    "archive": -3.0,
    "list": -3.0,
    "utility": -3.0,
    "utility in slug": -3.0,
    "utility host": -3.0,
}
NAMES = sorted(WEIGHTS)


class Page(Protocol):
    """A page with a label."""

    @property
    def domain(self) -> str:
        """The site of the page."""

    @property
    def url(self) -> str:
        """The canonical URL of the page."""

    @property
    def positive(self) -> bool:
        """Whether it is an article."""


def fit_prior(pages: Sequence[Page]) -> Callable[[str], float]:
    """Return the fitted log-odds of a URL."""
    number = Counter(page.domain for page in pages)
    matrix = np.array([_row(page.url) for page in pages])
    labels = np.array([page.positive for page in pages], dtype=float)
    weights = np.array([number[page.domain] ** -0.5 for page in pages])
    fitted = _fit(matrix, labels, weights / weights.mean())
    sizes = dict(zip(NAMES, fitted.tolist(), strict=False))
    bias = float(fitted[-1])
    return lambda url: bias + sum(sizes[name] for name in features(url))


def _row(url: str) -> list[float]:
    found = features(url)
    return [*(float(name in found) for name in NAMES), 1.0]


def _fit(
    matrix: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit by Newton's method with short steps; the bias is not regularised."""
    start = np.array([*(SIGNS.get(name, 0.0) for name in NAMES), BIAS])
    faith = np.full(len(start), FAITH)
    faith[-1] = 0.01
    now = start.copy()
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-matrix @ now))
        slope = matrix.T @ (weights * (chance - labels)) + faith * (now - start)
        bend = (matrix * (weights * chance * (1.0 - chance))[:, None]).T @ matrix + np.diag(faith)
        step = np.clip(np.linalg.solve(bend, slope), -0.5, 0.5)
        now -= step
        if np.abs(step).max() < 1e-6:
            break
    return now
