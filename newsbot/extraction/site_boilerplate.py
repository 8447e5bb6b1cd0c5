"""Finds the lines that a site prints around the text of its articles, by comparing them.

A line belongs to the site if it is at the same place in most of the site's recent articles: at the beginning
of the text, at its end, or next to the same other line. So a box of several lines is found wherever it is. A
single paragraph inside the text is never removed, however many articles contain it.

The caller keeps one memory for each site. Reading a page never changes it, so extraction is pure::

    memory = SiteMemory()
    for html, url in pages_of_one_site:
        article = read_page(html, url, memory=memory)
        memory.learn(url, article.shown.splitlines())
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

from newsbot.extraction.strings import key

RECENT = 30
"""Articles of a site that are remembered."""
LEAST = 10
"""Articles that must contain a line before it belongs to the site …"""
MOST = 2 / 3
"""… and the least share of the remembered articles that contain it."""
MAX_SITES = 64
"""Sites that :class:`SiteMemories` keeps."""
_SAME_ARTICLE = 0.7
"""Least share of neighbouring lines that two URLs have in common if they are of one article."""
_EDGE = 60
"""Lines at the beginning of a text, and at its end, that are stored."""
_FORMAT = 2


class SiteMemory:
    """The recent articles of one site, each as the set of its pairs of neighbouring lines.

    One thread may learn and take; others may call :meth:`site_lines` meanwhile.
    """

    def __init__(self) -> None:
        self._recent: dict[int, frozenset[int]] = {}
        """By digest of the URL, in reading order."""
        self._unwritten: dict[int, frozenset[int]] = {}

    def __len__(self) -> int:
        """Return how many articles are remembered."""
        return len(self._recent)

    @property
    def changed(self) -> bool:
        """True if something was learned after the last call of :meth:`written`."""
        return bool(self._unwritten)

    def learn(self, address: str, lines: Sequence[str]) -> None:
        """Store the lines of an article as the page shows them, in order.

        Earlier versions of the article and copies under another URL are removed.
        """
        owner = _digest(address)
        pairs = frozenset(_marks(lines[:_EDGE])[:-1] + _marks(lines[-_EDGE:])[1:])
        if not pairs or self._recent.get(owner) == pairs:
            return
        copies = [one for one, known in self._recent.items() if _is_copy(known, pairs)]
        for one in (owner, *copies):
            self._recent.pop(one, None)
            self._unwritten.pop(one, None)
        self._recent[owner] = self._unwritten[owner] = pairs
        self._forget()

    def site_lines(self, address: str, lines: Sequence[str]) -> list[int]:
        """Return the indices (from 0) of the ``lines`` of an article that belong to the site."""
        owner = _digest(address)
        others = [pairs for one, pairs in self._recent.copy().items() if one != owner]
        least = max(LEAST, MOST * len(others))
        if len(others) < least:
            return []
        marks = _marks(lines)
        counts = Counter(mark for mark in set(marks) for pairs in others if mark in pairs)
        common = [counts[mark] >= least for mark in marks]
        return [number for number in range(len(lines)) if common[number] or common[number + 1]]

    def plain(self) -> dict[str, Any]:
        """Return the memory as a JSON-able value of at most 50 kB."""
        return {"format": _FORMAT, "articles": [[one, *sorted(pairs)] for one, pairs in self._recent.items()]}

    def take(self, plain: Mapping[str, Any]) -> None:
        """Load what :meth:`plain` returned, here or in another worker.

        Articles learned here and not yet written are kept and follow the loaded ones. Raises ``ValueError``
        if ``plain`` does not have this form.
        """
        known = dict(_articles(plain))
        for one, pairs in self._unwritten.items():
            known.pop(one, None)
            known[one] = pairs
        self._recent = known
        self._forget()

    def written(self) -> None:
        """Mark everything learned so far as stored."""
        self._unwritten.clear()

    def _forget(self) -> None:
        for known in (self._recent, self._unwritten):
            for one in list(known)[:-RECENT]:
                del known[one]


class SiteMemories:
    """One memory per site of a crawl; the least recently used is removed first."""

    def __init__(self, most: int = MAX_SITES) -> None:
        self._most = most
        self._sites: OrderedDict[str, SiteMemory] = OrderedDict()

    def __contains__(self, domain: str) -> bool:
        return domain in self._sites

    def items(self) -> list[tuple[str, SiteMemory]]:
        """Return the domains and their memories, without touching their order."""
        return list(self._sites.items())

    def of(self, domain: str) -> SiteMemory:
        """Return the memory of a site; it is created if the site is new."""
        memory = self._sites.setdefault(domain, SiteMemory())
        self._sites.move_to_end(domain)
        while len(self._sites) > self._most:
            self._sites.popitem(last=False)
        return memory


def _marks(lines: Sequence[str]) -> list[int]:
    """Return one number for each pair of neighbouring lines; the ends of the text count as lines."""
    if not lines:
        return []
    return [_digest(f"{one}\n{other}") for one, other in pairwise(("", *map(key, lines), ""))]


def _is_copy(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) >= _SAME_ARTICLE * max(len(one), len(other))


def _articles(plain: Mapping[str, Any]) -> Iterable[tuple[int, frozenset[int]]]:
    articles = plain.get("articles")
    if plain.get("format") != _FORMAT or not isinstance(articles, list):
        raise ValueError("not in the form that this version knows")
    for article in articles[-RECENT:]:
        if not (isinstance(article, list) and all(type(number) is int for number in article) and article):
            raise ValueError("an article is not a list of numbers")
        yield article[0], frozenset(article[1 : 2 * _EDGE + 1])


def _digest(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
