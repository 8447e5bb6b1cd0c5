"""Compares texts: decides whether an edit makes a new version, and finds the lines that a site prints.

The lines that a site prints around the text of its articles are found by comparing the articles.
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

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any
from zlib import crc32

from newsbot.items import Bounded
from newsbot.pages.extraction.body.furniture import is_foreign
from newsbot.pages.extraction.fields.moments import has_digit
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.languages import words as words_of
from newsbot.pages.text.words import key, size, words

# --- changes of an article
LEAST_WORDS = 8
"""An edit of any text is substantial if at least this number of words was added or removed."""
LEAST_SHARE = 0.02
"""An edit of a short text is substantial if at least this share of its words, and more than two words, were
changed."""
_PROSE = 60
"""Minimum length of a line whose numbers are compared.

Shorter lines often contain numbers of readers and comments.
"""
_WITHIN = re.compile(r"(?<=[\w,;:)»”] )[\"'«“„(]?(\w{3,40})\b")
"""Words inside a sentence. If such a word begins with a capital letter, it is a name (or a German noun)."""
_ALIKE = 0.75
"""Two names with at least this similarity (``ratio()`` of difflib) count as forms of one name."""
_TIME_LINE = r"^\W{0,3}(?:last |first )?(?:%(published)s|%(updated)s)"
"""The start of a line that states when the text was published or changed."""
_MAX_TIME_LINE = 200
"""Maximum length of a line that states such a time, in characters."""


def is_substantial(old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Return True if ``new`` differs from ``old`` in substance. Each is a pair of title and text.

    Changes of punctuation, case, white space, the order of paragraphs, links to other articles, labels, and
    lines that state the time of an edit are not substantial. A changed word in the headline is substantial. A
    changed name, number or negation in a sentence is substantial too, even if no other word changed.
    """
    if key(old[0]) != key(new[0]):
        return True
    old_lines, new_lines = _lines(old[1]), _lines(new[1])
    # The order of words is ignored, because moving a paragraph is not substantial.
    before, after = _count(old_lines), _count(new_lines)
    # A single negation or number may change the meaning of a sentence: "not guilty", "two dead".
    decisive = words_of("negations") | words_of("number_words")
    if any(word in decisive for word in (before - after) + (after - before)):
        return True
    if _numbers(old_lines) != _numbers(new_lines):
        return True
    changed = max((before - after).total(), (after - before).total())
    length = max(before.total(), after.total())
    if changed > 2 and changed >= min(LEAST_WORDS, max(1.0, LEAST_SHARE * length)):
        return True
    # A few changed words remain. They matter only if one name replaces another.
    return _is_renamed(
        _names(old_lines) & (before - after).keys(), _names(new_lines) & (after - before).keys()
    )


def _lines(text: str) -> list[str]:
    """Return the lines of the story.

    Links to other articles, labels of adverts and lines with the time of an edit are left out.
    """
    return [line for line in text.splitlines() if not is_foreign(line) and not _states_time(line)]


def _states_time(line: str) -> bool:
    """True for a line that states when the text was published or changed."""
    return (
        len(line) <= _MAX_TIME_LINE and bool(compiled(_TIME_LINE).match(line)) and has_digit(line) is not None
    )


def _count(lines: list[str]) -> Counter[str]:
    return Counter(word for line in lines for word in words(line))


def _numbers(lines: list[str]) -> Counter[str]:
    """Count the words that contain a digit, in lines of prose."""
    found = (word for line in lines if size(line) >= _PROSE for word in words(line))
    return Counter(word for word in found if any(sign.isdigit() for sign in word))


def _is_renamed(removed: Iterable[str], added: Iterable[str]) -> bool:
    """True if a name was replaced by a different name.

    Two similar names are forms of one name, or one is a corrected spelling of the other name.
    """
    return any(SequenceMatcher(None, one, other).ratio() < _ALIKE for one in removed for other in added)


def _names(lines: list[str]) -> set[str]:
    """Return the capitalized words inside sentences, in lower case as ``words`` returns them."""
    return {word.casefold() for line in lines for word in _WITHIN.findall(line) if word[0].isupper()}


# --- lines that the articles of a site share
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
