"""Finds rising words: words that occur in a significantly larger share of articles now than before.

"Today" means the last 24 hours. Candidates are the words of today's titles. The share of today's articles
with a word is compared with the share in the 30 days before, by the log-likelihood ratio of two proportions
(T. Dunning, "Accurate methods for the statistics of surprise and coincidence", Computational Linguistics
19(1), 1993). For both periods, a random sample of articles is read. An article has a word if its title or its
text contains the word's stem. Three kinds of words are excluded without a word list:

* Words of a single site: for each word, the site that has it most often today is not counted.
* Words that return each week, such as names of days: a word must also have risen compared with the same day
  of the weeks before.
* Dates and amounts: words with a character that is not a letter are not counted.

An article counts only for its strongest word. Otherwise ten words of one event would fill the list.
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
"""A function that returns the log-likelihood ratio of a stem. The second argument is the number of today's
articles that have the stem."""
DAY = timedelta(days=1)
DAYS = 30
"""Number of days before today with which today is compared."""
SAMPLED = 2_000
"""Maximum number of today's articles in the sample. The sample of the days before is three times as large."""
CHANCE = 0.01
"""Maximum probability that the list contains a word that rose by chance. It is divided by the number of words
for the test of each word (Bonferroni correction)."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A rising stem."""

    stem: str
    share: float
    """Share of today's articles with the stem, 0 to 1."""
    before: float
    """Share of the articles of the days before with the stem, 0 to 1."""
    likelihood: float
    """The log-likelihood ratio, -2 ln λ."""
    keys: tuple[bytes, ...]
    """Keys of today's articles that have this stem and no stronger rising stem, newest first."""


def rising(index: SearchIndex, now: datetime, limit: int) -> list[Rise]:
    """Return at most ``limit`` stems that rose most within the 24 hours before ``now``, strongest first.

    This reads at most 8,000 articles from the index. To choose them, it reads the keys of all articles.
    """
    today = index.sample(now - DAY, now, SAMPLED)
    before = index.sample(now - (DAYS + 1) * DAY, now - DAY, 3 * SAMPLED)
    week = [one for one in before if (now - one.moment) % timedelta(weeks=1) < DAY]
    return risen(today, before, week, limit)


def risen(
    today: Sequence[Sampled], before: Sequence[Sampled], week: Sequence[Sampled], limit: int
) -> list[Rise]:
    """Return at most ``limit`` stems that rose most, the strongest first. The list is empty without articles.

    ``today`` and ``before`` are the samples that are compared. ``week`` has the articles of ``before`` that
    were published on the same day of a week as today.
    """
    if not today or not before:
        return []
    counts = Counter(stem for one in today for stem in one.stems if stem.isalpha())
    past, same_days = (Counter(stem for one in some for stem in one.stems) for some in (before, week))
    # -2 ln λ has a chi-squared distribution with one degree of freedom, which is the distribution of the
    # square of a normal variable.
    needed = NormalDist().inv_cdf(1 - CHANCE / max(1, len(counts)) / 2) ** 2

    def strength(stem: str, number: int) -> float:
        return min(
            likelihood(number, len(today), past[stem], len(before)),
            likelihood(number, len(today), same_days[stem], len(week)) if week else float("inf"),
        )

    titles = Counter(stem for one in today for stem in one.title)
    # If sites or articles are left out, the strength of a stem can only fall. So weak stems are dropped here.
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
    """Return the log-likelihood ratio -2 ln λ of two shares: ``number`` / ``of`` and ``past`` / ``of_past``.

    Return 0 if the first share is not higher than the second. This is Dunning's formula in the form of the
    G-test: twice the sum of observed * ln(observed / expected).
    """
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
    """Return the strongest stem of these articles and its strength. Return None if none exceeds ``needed``.

    For each stem, the site that has it most often is not counted. ``titles`` has the number of titles with
    each candidate stem. If two stems are equally strong, the one in more titles is returned.
    """
    sites: dict[str, Counter[str]] = {}
    for one in articles:
        for stem in one.stems & titles.keys():
            sites.setdefault(stem, Counter())[one.site] += 1
    # max(of.values()) is subtracted to leave out the site that has the stem most often
    values = {stem: strength(stem, of.total() - max(of.values())) for stem, of in sites.items()}
    best = max(values, key=lambda stem: (values[stem], titles[stem], stem), default=None)
    return None if best is None or values[best] <= needed else (best, values[best])
