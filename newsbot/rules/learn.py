"""Learns the forms of a site's article URLs from labelled URLs.

The labels are automatic. Links of feeds and news sitemaps and fetched articles are labelled as articles.
Links of menus and fetched pages of other kinds are labelled as others. Decision trees over the form of the
URL (:mod:`newsbot.rules.trees`) correct the prior, an estimate that is the same for all sites
(:mod:`newsbot.rules.shape`). From URLs that are articles by both their label and the trees, regular
expressions are made (:mod:`newsbot.rules.induce`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from newsbot.rules.induce import LearnedPattern, induce
from newsbot.rules.shape import OddsTable, log_odds, probability
from newsbot.rules.traits import traits
from newsbot.rules.trees import RATE, Node, boost, from_plain
from newsbot.urls import canonicalize

MAX_EXAMPLES = 2000
"""Maximum number of URLs with each label that are used. From more URLs, a sample is drawn."""
TRUST = 2.5
"""Log-odds of the prior at which a label that contradicts the prior counts half (see ``trees.boost``)."""
LEANING = 0.5
"""Log-odds added to every result, because a missed article is worse than a needless fetch."""
BOUND = 4.0
"""Limit of the prior's log-odds, positive or negative, so that a site's examples can correct them."""
FORMAT = 1
"""Version of the stored form of a learned rule. Increase it if :meth:`LearnedRule.plain` changes."""

Prior = Callable[[str], float]
"""A function that returns the log-odds of a canonical URL."""

lately = OddsTable()
"""A cache of recent log-odds, shared by the rules of all sites."""
_numbers = count()


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """The learned rule of one site. Without examples it equals the global prior."""

    trees: tuple[Node, ...] = ()
    patterns: tuple[LearnedPattern, ...] = ()
    articles: int = 0
    """Number of articles among the examples from which the rule was learned."""
    others: int = 0
    """Number of other pages among these examples."""
    prior: Prior = log_odds
    _number: int = field(default_factory=_numbers.__next__, compare=False, repr=False)
    """A number that is unique in the process. It separates the rules of different sites in the cache."""

    def is_article(self, url: str) -> bool:
        """Return whether a URL looks like an article of this site, or False if it is not a URL."""
        return self.score(url) >= 0.5

    def score(self, url: str) -> float:
        """Return the probability that the page is an article, from 0 to 1, or 0 if it is not a URL."""
        try:
            return probability(self.log_odds(canonicalize(url)))
        except ValueError:
            return 0.0

    def log_odds(self, url: str) -> float:
        """Return the log-odds of a canonical URL."""
        if not self.trees:
            return self.prior(url)
        mark = hash((self._number, url))
        odds = lately.get(mark)
        return lately.put(mark, self._corrected(url)) if odds is None else odds

    def _corrected(self, url: str) -> float:
        odds, names = self.prior(url), traits(url)
        return (
            max(-BOUND, min(BOUND, odds)) + LEANING + RATE * sum([tree.value(names) for tree in self.trees])
        )

    def plain(self) -> dict[str, Any]:
        """Return the rule without its prior as a JSON-able value, which :func:`learned_from` reads."""
        return {
            "format": FORMAT,
            "trees": [tree.plain() for tree in self.trees],
            "patterns": [[one.text, one.articles, one.others, list(one.examples)] for one in self.patterns],
            "articles": self.articles,
            "others": self.others,
        }


def learned_from(plain: Mapping[str, Any]) -> LearnedRule:
    """Return the rule for a value that :meth:`LearnedRule.plain` returned.

    Raises ``ValueError`` if the value is damaged or has another :data:`FORMAT`.
    """
    try:
        if plain["format"] != FORMAT:
            raise ValueError("the learned rule was written by another version of newsbot")
        return LearnedRule(
            trees=tuple(from_plain(tree) for tree in plain["trees"]),
            patterns=tuple(
                LearnedPattern(str(text), int(articles), int(others), tuple(map(str, examples)))
                for text, articles, others, examples in plain["patterns"]
            ),
            articles=int(plain["articles"]),
            others=int(plain["others"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("the learned rule cannot be read") from error


def learn(labelled: Iterable[tuple[str, bool]], *, prior: Prior = log_odds) -> LearnedRule:
    """Return the rule that is learned from pairs of a URL and whether it is an article.

    A URL with both labels counts as an article, because menus link to articles too. Invalid URLs are ignored.
    ``prior`` returns the log-odds of a canonical URL without knowledge of the site.
    """
    known: dict[str, bool] = {}
    for url, label in labelled:
        try:
            canonical = canonicalize(url)
        except ValueError:
            continue
        known[canonical] = known.get(canonical, False) or label
    good = _sample([url for url, label in known.items() if label])
    bad = _sample([url for url, label in known.items() if not label])
    urls = good + bad
    if not urls:
        return LearnedRule(prior=prior)
    labels = [True] * len(good) + [False] * len(bad)
    names = [traits(url) for url in urls]
    first = [max(-BOUND, min(BOUND, prior(url))) for url in urls]
    rule = LearnedRule(
        trees=tuple(boost(names, labels, first, TRUST)), articles=len(good), others=len(bad), prior=prior
    )
    # Labels are sometimes wrong. If the trees reject a URL that is labelled as an article, no pattern is made
    # from it. If they accept a URL with the other label, it may be an article and does not exclude a pattern.
    likely = [url for url in good if rule.log_odds(url) >= 0.0]
    doubtful = {url for url in bad if rule.log_odds(url) >= LEANING}
    return LearnedRule(
        trees=rule.trees,
        patterns=tuple(induce(likely, [url for url in bad if url not in doubtful], sorted(doubtful))),
        articles=len(good),
        others=len(bad),
        prior=prior,
    )


def _sample(urls: list[str]) -> list[str]:
    """Return at most MAX_EXAMPLES URLs. The choice looks random, but is the same for the same URLs."""
    keys = {url: hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest() for url in urls}
    return sorted(urls, key=keys.__getitem__)[:MAX_EXAMPLES]
