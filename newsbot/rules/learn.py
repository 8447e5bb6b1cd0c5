"""Learns from labelled addresses what a site's article addresses look like.

Labels come free: links of feeds and news sitemaps and fetched pages that were articles, against links of
navigation and fetched pages that were none. Trees over the form of the address (:mod:`newsbot.rules.trees`)
correct the global prior (:mod:`newsbot.rules.shape`), and the addresses that both call articles become
regular expressions (:mod:`newsbot.rules.induce`).
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
"""Addresses of each label that are learned from; more are a sample."""
TRUST = 2.5
LEANING = 0.5
"""Log-odds added to every verdict: an article that is missed is worse than a page fetched in vain."""
BOUND = 4.0
"""The prior's log-odds are cut here: what is seen of a site must be able to correct them."""
FORMAT = 1

Prior = Callable[[str], float]

lately = OddsTable()
"""What the rules of all sites said of addresses lately."""
_numbers = count()


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """What was learned of one site. Without any example it says what the global prior says."""

    trees: tuple[Node, ...] = ()
    patterns: tuple[LearnedPattern, ...] = ()
    articles: int = 0
    """Examples of articles that it was learned from."""
    others: int = 0
    prior: Prior = log_odds
    _number: int = field(default_factory=_numbers.__next__, compare=False, repr=False)
    """Tells this rule from all others of the process."""

    def is_article(self, url: str) -> bool:
        """Tell whether a URL looks like an article of this site; False for what is no URL."""
        return self.score(url) >= 0.5

    def score(self, url: str) -> float:
        """Return how likely the page is an article, from 0 to 1; 0 for what is no URL."""
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
        """Return it as JSON can hold it."""
        return {
            "format": FORMAT,
            "trees": [tree.plain() for tree in self.trees],
            "patterns": [[one.text, one.articles, one.others, list(one.examples)] for one in self.patterns],
            "articles": self.articles,
            "others": self.others,
        }


def learned_from(plain: Mapping[str, Any]) -> LearnedRule:
    """Return what :meth:`LearnedRule.plain` gave. Raises ``ValueError`` for anything else."""
    try:
        if plain["format"] != FORMAT:
            raise ValueError("what was learned is of another version of newsbot")
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
        raise ValueError("what was learned cannot be read") from error


def learn(labelled: Iterable[tuple[str, bool]], *, prior: Prior = log_odds) -> LearnedRule:
    """Learn from URLs and whether each is an article. Never raises for what the URLs are.

    Where a URL has both labels it is an article: navigation links articles too. What is no URL is left
    out. ``prior`` gives the log-odds of a canonical URL without knowledge of the site.
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
    """Return at most MAX_EXAMPLES URLs, always the same ones, drawn evenly."""
    keys = {url: hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest() for url in urls}
    return sorted(urls, key=keys.__getitem__)[:MAX_EXAMPLES]
