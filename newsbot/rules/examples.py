"""The example URLs from which the URL patterns of a site are learned.

Their number is bounded: the newest are kept, and fetched pages are preferred.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.rules.learn import LearnedRule, learn

MAX_KEPT = 200
"""URLs of each label that are kept for a site."""
MAX_URL = 200
"""Characters; longer URLs are not used as examples."""
MIN_EXAMPLES = 8
"""Examples of articles and of others that are needed before a site is learned for the first time."""
GROWTH = 1.25
"""A site is learned again when the number of examples has grown by this factor."""
WINDOW = 20
"""Fetched pages of a pattern that are considered."""
MIN_FETCHED = 8
"""Fetched pages of a pattern that are needed before it can be removed."""
MAX_GIVEN_UP = 20
"""Removed patterns that are kept for a site."""
MAX_PLAIN = 28_000
"""Characters of the examples of one label that are kept."""
RETIRED_BELOW = 0.3
"""A pattern is removed if a smaller share of the last pages it matched were articles."""


@dataclass(slots=True)
class Examples:
    """The example URLs of one site. URLs are canonical."""

    articles: dict[str, bool] = field(default_factory=dict)
    """URL -> True if it was fetched and was an article."""
    others: dict[str, bool] = field(default_factory=dict)
    """URL -> True if it was fetched and was not an article."""
    seen: int = 0
    """Examples added since this object was created."""
    learned_at: int = 0
    """The value of ``seen`` when the site was last learned."""
    due: bool = False
    """True if a pattern was removed, so the site is learned again now."""
    given_up: list[str] = field(default_factory=list)
    """The last removed patterns, whose pages were no longer articles. URLs that they match are not examples
    of articles.
    """
    _revived: set[str] = field(default_factory=set)
    """Removed patterns that were learned again. An older list of another worker must not remove them."""
    _outcomes: dict[str, deque[bool]] = field(default_factory=dict)
    """Pattern -> for the last fetched pages that it matched, whether each was an article."""

    def heard(self, url: str, *, article: bool) -> None:
        """Add a URL that was not fetched, with the label that the place of its link suggests.

        Links of feeds are labelled as articles, links of menus are not. A label from a fetched page is not
        changed.
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
        """Return whether there are enough new examples to learn for the first time, or again."""
        if min(len(self.articles), len(self.others)) < MIN_EXAMPLES:
            return False
        return self.due or self.seen >= max(self.learned_at * GROWTH, self.learned_at + MIN_EXAMPLES)

    def learn(self) -> LearnedRule:
        """Return the rule that is learned from all examples."""
        self.learned_at, self.due = self.seen, False
        rule = learn(self.labelled())
        kept = {pattern.text for pattern in rule.patterns}
        self._revived |= kept.intersection(self.given_up)
        self.given_up = [text for text in self.given_up if text not in kept]
        self._outcomes = {text: told for text, told in self._outcomes.items() if text in kept}
        return rule

    def labelled(self) -> Iterable[tuple[str, bool]]:
        """Yield the examples with their labels."""
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
        """Add the :meth:`plain` value of another worker or of an earlier crawl. Existing entries win.

        Patterns that either side has removed are removed in the result. Raises ``ValueError`` if the value
        does not have the expected form; nothing is changed then.
        """
        try:
            told = [
                (str(url), bool(fetched), article)
                for name, article in (("articles", True), ("others", False))
                for url, fetched in plain.get(name, ())[:MAX_KEPT]
            ]
            given_up = [re.compile(str(text), re.ASCII) for text in plain.get("given_up", ())[:MAX_GIVEN_UP]]
        except (TypeError, AttributeError, ValueError, re.error) as error:
            raise ValueError("the examples of a site cannot be read") from error
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
        # Removed and added again: the order of the dict is the order of use, so the oldest URL is dropped
        # first.
        known = home.pop(url, False)
        home[url] = known or fetched
        if len(home) > MAX_KEPT:
            del home[next((one for one, sure in home.items() if not sure), next(iter(home)))]

    def _weigh(self, url: str, article: bool, rule: LearnedRule) -> str | None:
        """Count the outcome for the first pattern that matches. Returns the pattern if it is removed."""
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
        """Remove a pattern, and the examples of articles that it matches: they would teach it again."""
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
    """Return URLs that fit into :data:`MAX_PLAIN` characters: fetched ones first, then the newest.

    Each item is ``[URL, fetched]``. The order is that of ``home``.
    """
    room, chosen = MAX_PLAIN, set()
    for wanted in (True, False):
        for url in [url for url, fetched in home.items() if fetched is wanted][::-1]:
            room -= len(url) + 10  # with quotes, brackets and the flag in JSON
            if room >= 0:
                chosen.add(url)
    return [[url, fetched] for url, fetched in home.items() if url in chosen]
