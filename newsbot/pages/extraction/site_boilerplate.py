"""Finds the lines that a site prints around the text of its articles, by comparing the articles.

A line belongs to the site if it is at the same place in most of the site's recent articles. There are three
kinds of places: the beginning of the text, its end, and next to a particular other line. So a box of several
lines is found anywhere in the text. A single paragraph inside the text is never removed, even if many
articles contain it.

The caller keeps one memory for each site. Extraction only reads the memory. The caller adds articles to it::

    memory = SiteMemory()
    for html, url in pages_of_one_site:
        article = read_page(html, url, memory=memory)
        memory.learn(url, article.shown.splitlines())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

from newsbot.items import Bounded
from newsbot.pages.extraction.strings import key

RECENT = 30
"""Maximum number of articles of a site that are remembered."""
LEAST = 10
"""Minimum number of remembered articles that must contain a line of the site."""
MOST = 2 / 3
"""Minimum share of the remembered articles that must contain a line of the site."""
MAX_SITES = 64
"""Maximum number of sites that :class:`SiteMemories` keeps."""
_SAME_ARTICLE = 0.7
"""Two texts count as one article if they have at least this share of their pairs of lines in common."""
_EDGE = 60
"""Pairs are stored only from this number of lines at the beginning of a text and at its end."""
_FORMAT = 2
"""Version of the stored form of a memory. Memories with another version are refused."""


class SiteMemory:
    """The recent articles of one site. Each is stored as the set of its pairs of neighbouring lines.

    Only one thread may change the memory. Other threads may call :meth:`site_lines` at the same time.
    """

    def __init__(self) -> None:
        self._recent: dict[int, frozenset[int]] = {}
        """Checksum of the URL -> checksums of the pairs of lines, oldest article first."""
        self._unwritten: dict[int, frozenset[int]] = {}
        """The part of ``_recent`` that was learned after the last call of :meth:`written`."""

    def __len__(self) -> int:
        """Return the number of remembered articles."""
        return len(self._recent)

    @property
    def changed(self) -> bool:
        """True if something was learned after the last call of :meth:`written`."""
        return bool(self._unwritten)

    def learn(self, address: str, lines: Sequence[str]) -> None:
        """Store the lines of an article, in the order in which the page shows them.

        ``lines`` include the lines of the site (``Article.shown``). Earlier versions of the article and
        copies under another URL are removed.
        """
        owner = _digest(address)
        # A mark is the checksum of one pair of lines (see _marks). The end of the first slice is not the end
        # of the text, and the start of the second slice is not the start of the text. So the marks of these
        # two edges are left out.
        is_long = len(lines) > _EDGE
        pairs = frozenset(
            _marks(lines[:_EDGE])[:-1] + _marks(lines[-_EDGE:])[1:] if is_long else _marks(lines)
        )
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
        # The stored version of the article itself does not count, because it has the same lines. The dict is
        # copied because another thread may call learn() during the iteration.
        others = [pairs for one, pairs in self._recent.copy().items() if one != owner]
        least = max(LEAST, MOST * len(others))
        if len(others) < least:
            return []
        marks = _marks(lines)
        counts = Counter(mark for mark in set(marks) for pairs in others if mark in pairs)
        common = [counts[mark] >= least for mark in marks]
        # Line ``number`` is in two pairs: pair ``number`` with the line before it, and pair ``number + 1``
        # with the line after it.
        return [number for number in range(len(lines)) if common[number] or common[number + 1]]

    def plain(self) -> dict[str, Any]:
        """Return the memory as a JSON-serializable mapping of at most 50 kB."""
        return {"format": _FORMAT, "articles": [[one, *sorted(pairs)] for one, pairs in self._recent.items()]}

    def take(self, plain: Mapping[str, Any]) -> None:
        """Replace the stored articles with those in ``plain``, a value that :meth:`plain` returned in any
        worker.

        Articles that were learned here and are not yet written are kept as the newest. Raises ``ValueError``
        if ``plain`` is not such a value.
        """
        known = dict(_articles(plain))
        for one, pairs in self._unwritten.items():
            known.pop(one, None)  # so that it becomes the newest
            known[one] = pairs
        self._recent = known
        self._forget()

    def written(self) -> None:
        """Mark everything learned so far as stored by the caller."""
        self._unwritten.clear()

    def _forget(self) -> None:
        """Remove the oldest articles beyond :data:`RECENT`."""
        for known in (self._recent, self._unwritten):
            for one in list(known)[:-RECENT]:
                del known[one]


class SiteMemories:
    """Keeps one memory per site of a crawl. The least recently used memory is removed first."""

    def __init__(self, most: int = MAX_SITES) -> None:
        self._sites = Bounded[str, SiteMemory](most)

    def __contains__(self, domain: str) -> bool:
        return domain in self._sites

    def items(self) -> list[tuple[str, SiteMemory]]:
        """Return the domains and their memories. This does not count as a use."""
        return list(self._sites.items())

    def of(self, domain: str) -> SiteMemory:
        """Return the memory of a site. An empty memory is created if there is none."""
        memory = self._sites[domain] = self._sites.get(domain, SiteMemory())
        return memory


def _marks(lines: Sequence[str]) -> list[int]:
    """Return one checksum for each pair of neighbouring lines.

    The start and the end of the text count as empty lines, so there is one more pair than lines.
    """
    if not lines:
        return []
    return [_digest(f"{one}\n{other}") for one, other in pairwise(("", *map(key, lines), ""))]


def _is_copy(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) >= _SAME_ARTICLE * max(len(one), len(other))


def _articles(plain: Mapping[str, Any]) -> Iterable[tuple[int, frozenset[int]]]:
    articles = plain.get("articles")
    if plain.get("format") != _FORMAT or not isinstance(articles, list):
        raise ValueError("this version of newsbot cannot read the format")
    for article in articles[-RECENT:]:
        if not (isinstance(article, list) and all(type(number) is int for number in article) and article):
            raise ValueError("the entry of an article is not a list of numbers")
        yield article[0], frozenset(article[1 : 2 * _EDGE + 1])


def _digest(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
