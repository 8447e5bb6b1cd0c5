"""Rising terms: words that a significantly larger share of articles has now than before.

A word in a title of today is compared with the 30 days before by the log-likelihood ratio of two proportions
(T. Dunning, "Accurate methods for the statistics of surprise and coincidence", Computational Linguistics
19(1), 1993). Both are samples of articles. Each article counts once, with its title and text. Three kinds of
words are excluded without a word list:

* words of a single site: the site that has a word most often today does not count for it
* words that return each week, such as names of days: a word must also have risen compared with the same days
of the weeks before
* dates and amounts: words with a digit

An article counts only for its strongest word, so that ten words of one event do not fill the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from statistics import NormalDist

from newsbot.search.index import Sampled, SearchIndex

Strength = Callable[[str, int], float]
DAY = timedelta(days=1)
DAYS = 30
"""Number of days before today that today is compared with."""
SAMPLED = 2_000
"""Articles of today in the sample. The sample of the time before is three times as large."""
CHANCE = 0.01
"""Probability that a list contains a word that rose by chance, divided among all words (Bonferroni)."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A stem that rose."""

    stem: str
    share: float
    """Share of the articles of today."""
    before: float
    """Share of the articles of the time before."""
    likelihood: float
    """The log-likelihood ratio, -2 ln λ."""
    keys: tuple[bytes, ...]
    """Articles of today that have it and no stronger stem, newest first."""


def rising(index: SearchIndex, now: datetime, limit: int) -> list[Rise]:
    """Return the stems that rose most within the last 24 hours, the strongest first.

    Reads at most 8,000 articles of the index, and the keys of all.
    """
    today = index.sample(now - DAY, now, SAMPLED)
    before = index.sample(now - (DAYS + 1) * DAY, now - DAY, 3 * SAMPLED)
    week = [one for one in before if (now - one.moment) % timedelta(weeks=1) < DAY]
    return risen(today, before, week, limit)


def risen(
    today: Sequence[Sampled], before: Sequence[Sampled], week: Sequence[Sampled], limit: int
) -> list[Rise]:
    """Return the stems that rose most, the strongest first.

    ``week``: articles of ``before`` from the same days of the weeks before.
    """
    if not today or not before:
        return []
    counts = Counter(stem for one in today for stem in one.stems if stem.isalpha())
    past, same_days = (Counter(stem for one in some for stem in one.stems) for some in (before, week))
    needed = NormalDist().inv_cdf(1 - CHANCE / max(1, len(counts)) / 2) ** 2  # chi-squared, one degree

    def strength(stem: str, number: int) -> float:
        return min(
            likelihood(number, len(today), past[stem], len(before)),
            likelihood(number, len(today), same_days[stem], len(week)) if week else float("inf"),
        )

    titles = Counter(stem for one in today for stem in one.title)
    strong = {stem: n for stem, n in titles.items() if strength(stem, counts[stem]) > needed}
    rest, found = list(today), list[Rise]()
    while len(found) < limit and (best := _strongest(rest, strong, strength, needed)) is not None:
        stem, value = best
        having = [one for one in rest if stem in one.stems]
        rest = [one for one in rest if stem not in one.stems]
        keys = tuple(one.key for one in sorted(having, key=lambda one: one.moment, reverse=True))
        share, earlier = counts[stem] / len(today), past[stem] / len(before)
        found.append(Rise(stem, share, earlier, value, keys))
    return found


def likelihood(number: int, of: int, past: int, of_past: int) -> float:
    """Return -2 ln λ of ``number`` in ``of`` being a higher share than ``past`` in ``of_past``, or 0."""
    if not of or not of_past or number / of <= past / of_past:
        return 0.0
    together = (number + past) / (of + of_past)
    parts = (
        (number, of * together),
        (past, of_past * together),
        (of - number, of * (1 - together)),
        (of_past - past, of_past * (1 - together)),
    )
    return 2 * sum(seen * log(seen / expected) for seen, expected in parts if seen)


def _strongest(
    articles: Sequence[Sampled], titles: Mapping[str, int], strength: Strength, needed: float
) -> tuple[str, float] | None:
    """Return the strongest stem of these articles, without the site that has it most often.

    ``titles``: number of titles with each candidate stem. Among equally strong stems, the most titles decide.
    """
    sites: dict[str, Counter[str]] = {}
    for one in articles:
        for stem in one.stems & titles.keys():
            sites.setdefault(stem, Counter())[one.site] += 1
    values = {stem: strength(stem, of.total() - max(of.values())) for stem, of in sites.items()}
    best = max(values, key=lambda stem: (values[stem], titles[stem], stem), default=None)
    return None if best is None or values[best] <= needed else (best, values[best])
