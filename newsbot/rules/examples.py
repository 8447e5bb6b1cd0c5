"""Keeps the example URLs from which the URL patterns of a site are learned.

Their number is limited. The newest URLs are kept, and URLs of fetched pages are preferred.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.rules.learn import LearnedRule, learn

MAX_KEPT = 200
"""Maximum number of URLs with each label that are kept for a site."""
MAX_URL = 200
"""Maximum length of a URL that is used as example, in characters."""
MIN_EXAMPLES = 8
"""Minimum number of examples with each label from which the patterns of a site are learned."""
GROWTH = 1.25
"""Factor by which the number of examples must have grown before the patterns are learned again."""
WINDOW = 20
"""Number of the last fetched pages by which a pattern is judged."""
MIN_FETCHED = 8
"""Minimum number of fetched pages that matched a pattern before it can be removed."""
MAX_GIVEN_UP = 20
"""Maximum number of removed patterns that are remembered for a site."""
MAX_PLAIN = 28_000
"""Maximum size of the stored examples with one label, in characters."""
RETIRED_BELOW = 0.3
"""Minimum share of articles among the last pages that a pattern matched. Below it the pattern is removed."""


@dataclass(slots=True)
class Examples:
    """The example URLs of one site. URLs are canonical."""

    articles: dict[str, bool] = field(default_factory=dict)
    """Examples of articles by URL: True if the page was fetched and was an article."""
    others: dict[str, bool] = field(default_factory=dict)
    """Examples of other pages by URL: True if the page was fetched and was not an article."""
    seen: int = 0
    """Number of examples that were added since this object was created."""
    learned_at: int = 0
    """The value of ``seen`` when the patterns were last learned."""
    due: bool = False
    """True if a pattern was removed since the patterns were last learned. Then they must be learned again."""
    given_up: list[str] = field(default_factory=list)
    """The last patterns that were removed because their pages were no longer articles.

    URLs that they match are not accepted from other workers as examples of articles.
    """
    _revived: set[str] = field(default_factory=set)
    """Patterns that were removed and learned again. An old list of another worker must not remove them."""
    _outcomes: dict[str, deque[bool]] = field(default_factory=dict)
    """For each pattern: whether each of the last fetched pages that it matched was an article."""

    def heard(self, url: str, *, article: bool) -> None:
        """Add a URL that was not fetched, with the label that the place of its link suggests.

        Links of feeds are labelled as articles, and links of menus as other pages. If the page was fetched
        before, its label is not changed.
        """
        if len(url) > MAX_URL or url in self.articles or self.others.get(url):
            return
        if not article:
            self._put(self.others, url, fetched=False)
        else:
            self.others.pop(url, None)
            self._put(self.articles, url, fetched=False)

    def fetched(self, url: str, *, article: bool, rule: LearnedRule | None = None) -> str | None:
        """Record whether a fetched page was an article.

        Returns the pattern of ``rule`` that is removed because too few of its pages are articles, or None.
        """
        if len(url) > MAX_URL:
            return None
        (self.others if article else self.articles).pop(url, None)
        self._put(self.articles if article else self.others, url, fetched=True)
        return self._weigh(url, article, rule) if rule is not None else None

    def wants_learning(self) -> bool:
        """Return whether there are enough new examples to learn the patterns, for the first time or again."""
        if min(len(self.articles), len(self.others)) < MIN_EXAMPLES:
            return False
        return self.due or self.seen >= max(self.learned_at * GROWTH, self.learned_at + MIN_EXAMPLES)

    def learn(self) -> LearnedRule:
        """Learn from all examples and return the learned rule."""
        self.learned_at, self.due = self.seen, False
        rule = learn(self.labelled())
        kept = {pattern.text for pattern in rule.patterns}
        self._revived |= kept.intersection(self.given_up)
        self.given_up = [text for text in self.given_up if text not in kept]
        self._outcomes = {text: told for text, told in self._outcomes.items() if text in kept}
        return rule

    def labelled(self) -> Iterable[tuple[str, bool]]:
        """Yield each URL with its label, which is True for articles."""
        yield from ((url, True) for url in self.articles)
        yield from ((url, False) for url in self.others)

    def plain(self) -> dict[str, Any]:
        """Return the examples as a JSON-able value, which :meth:`merge` reads.

        If the URLs are very long, only the last ones are included, so that the value fits into one note of
        the storage.
        """
        return {
            "articles": _last(self.articles),
            "others": _last(self.others),
            "given_up": list(self.given_up),
        }

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add the examples in a :meth:`plain` value of another worker or of an earlier crawl.

        Labels that are known here are not changed. Patterns that the other worker has removed are removed
        here too. Raises ``ValueError`` if the value does not have the expected form. Nothing is changed then.
        """
        try:
            # The whole value is read before anything is changed, so a faulty value changes nothing.
            told = [
                (str(url), bool(fetched), article)
                for name, article in (("articles", True), ("others", False))
                for url, fetched in plain.get(name, ())[:MAX_KEPT]
            ]
            given_up = [re.compile(str(text), re.ASCII) for text in plain.get("given_up", ())[:MAX_GIVEN_UP]]
        except (TypeError, AttributeError, ValueError, re.error) as error:
            raise ValueError("the examples of a site cannot be read") from error
        # The patterns come first: the examples of a removed pattern must not be added again.
        for pattern in given_up:
            if pattern.pattern not in self.given_up and pattern.pattern not in self._revived:
                self._forget(pattern.pattern)
        for url, fetched, article in told:
            if article and self._is_given_up(url):
                continue
            if url not in self.articles and url not in self.others:
                home = self.articles if article else self.others
                if len(home) < MAX_KEPT:
                    home[url] = fetched
                    self.seen += 1

    def _put(self, home: dict[str, bool], url: str, *, fetched: bool) -> None:
        self.seen += url not in home
        # The URL is removed and added again, so that the dict is in the order of last use. If it is full, the
        # oldest URL that was not fetched is dropped, or else the oldest one.
        known = home.pop(url, False)
        home[url] = known or fetched
        if len(home) > MAX_KEPT:
            del home[next((one for one, sure in home.items() if not sure), next(iter(home)))]

    def _weigh(self, url: str, article: bool, rule: LearnedRule) -> str | None:
        """Record for the first pattern that matches ``url`` whether the page was an article.

        Returns the pattern if it is removed because of this, else None.
        """
        path = _path(url)
        for pattern in rule.patterns:
            if re.search(pattern.text, path, re.ASCII) is None:
                continue
            told = self._outcomes.setdefault(pattern.text, deque(maxlen=WINDOW))
            told.append(article)
            if len(told) >= MIN_FETCHED and sum(told) < RETIRED_BELOW * len(told):
                self._forget(pattern.text)
                return pattern.text
            return None
        return None

    def _forget(self, pattern: str) -> None:
        """Remove a pattern, and the examples of articles that it matches.

        Otherwise the same pattern would be learned from them again.
        """
        for url in [url for url in self.articles if re.search(pattern, _path(url), re.ASCII)]:
            del self.articles[url]
        self._outcomes.pop(pattern, None)
        self.given_up = [*self.given_up, pattern][-MAX_GIVEN_UP:]
        self.due = True

    def _is_given_up(self, url: str) -> bool:
        return any(re.search(pattern, _path(url), re.ASCII) for pattern in self.given_up)


def _path(url: str) -> str:
    return url[url.find("/", 8) :] or "/"  # 8: after "https://"


def _last(home: Mapping[str, bool]) -> list[list[Any]]:
    """Return the URLs of ``home`` that fit into :data:`MAX_PLAIN` characters, each as ``[URL, fetched]``.

    Fetched URLs are chosen first, then newer URLs before older ones. The order of the result is that of
    ``home``.
    """
    room, chosen = MAX_PLAIN, set()
    for wanted in (True, False):
        for url in [url for url, fetched in home.items() if fetched is wanted][::-1]:
            room -= len(url) + 10  # with quotes, brackets and the flag in JSON
            if room >= 0:
                chosen.add(url)
    return [[url, fetched] for url, fetched in home.items() if url in chosen]
