"""Compares two articles word by word: how much text they share, and what stands in the places that differ.

A *place* is a stretch between two passages that follow each other in both texts, if the texts have different
words there. The words of a place that only one of the two articles has were *replaced*. The names and numbers
that were replaced, and those that both texts *keep*, tell whether the articles report the same news
(:class:`Change`):

* A template (weather, markets, results, obituaries) has a place for everything that is particular to one
  article. So its subject is replaced, at least one other name or number too, and few of them are kept. The
  subject stands in the headline, or is a name in the first words of the text.
* In a template of figures alone, most figures are replaced.
* A correction replaces one name or word, and keeps the others. In an updated or edited text, other words
  differ as well.

No language is known here, except for the names of months. A word is a name if it is capitalized within a
sentence. In scripts without capitals, the replaced words of a place may be names if the subject is replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.minhash import RUN, SHINGLE, distinct_hashes, shingle_sums, upper_halves
from newsbot.items import Article
from newsbot.pages.text.names import month
from newsbot.pages.text.words import UNSPACED, token_bytes, word_pattern

COVERED = 0.6
"""Minimum share of the shorter text's words in shared passages if one text is derived from the other."""
SAME_STORY_EXACT = 0.52
"""Minimum Jaccard similarity of two texts of one story."""
_LEAD = 25
"""Number of words at the beginning of a text that name its subject."""
_PURE = 0.6
"""Minimum share of names and numbers in the words that differ between two fillings of a template."""
_SUBJECT = 5, 2
"""If the subject is replaced: number of kept names and numbers that one replaced name or number outweighs, in
articles of one site and of two sites."""
_FIGURES = 2, 1
"""The same if only figures are replaced."""
_LEAST_FIGURES = 3
"""Minimum number of replaced figures in a template of figures alone."""
_CLOSE = 0.85
"""Jaccard similarity from which texts of two sites are copies, even if all their figures differ."""
_CAPITALS = 0.25
"""Share of capitalized words above which capitals do not show names (German)."""
_LONGEST = 60
"""Maximum number of words in a place. Longer stretches were rewritten, not replaced."""
_ADDED = 2
"""Maximum number of words in a place where the other text has none."""
_NAME = 4
"""Maximum number of words of a name whose single words occur elsewhere."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DIGIT = re.compile(rb"[0-9]")
_UNSPACED = re.compile(f"[{UNSPACED}]+")
_YEAR = re.compile("(?:19|20)[0-9][0-9]")
_OPENING = " \"'“”„«»‘’(–—-"


class Change(IntEnum):
    """What the places that differ say about the news of two articles."""

    NONE = 0
    """The articles may be versions of one article."""
    FIGURES = 1
    """Only numbers were replaced: an update, unless the text is known to be a template."""
    NAMES = 2
    """Names were replaced, and most others were kept: the same."""
    ISSUE = 3
    """A date in the headline or in the lead was replaced, and other text too: two issues of a series. Or only
    the subject was replaced: an edit, or two fillings of a template."""
    FILLING = 4
    """The articles fill one template with different news."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How similar two articles are."""

    alike: float
    """Jaccard similarity of the shingles of the texts."""
    covered: float
    """Share of the words of the shorter text that are in passages which both texts have."""
    change: Change = Change.NONE

    @property
    def is_link(self) -> bool:
        """True if one text belongs to the story of the other one, or is derived from it."""
        return self.alike >= SAME_STORY_EXACT or self.covered >= COVERED


class Text:
    """The words of an article, prepared for comparisons."""

    def __init__(self, article: Article) -> None:
        self.source, self.headline, self.text = article.source, article.title, article.text
        self.words, self.title = token_bytes(article.text), token_bytes(article.title)
        self.hashes = upper_halves(shingle_sums(self.words))
        self.shingles = distinct_hashes(self.hashes)
        """The distinct hashes of the shingles, sorted."""

    @cached_property
    def known(self) -> set[bytes]:
        """The words of text and headline."""
        return {*self.words, *self.title}

    def has(self, word: bytes) -> bool:
        """Return True if the article has a word, several words, or a run of characters without spaces."""
        if b" " in word:
            return word in b" ".join((*self.words, b"", *self.title))
        return word in (self._joined if _is_unspaced(word) else self.known)

    @cached_property
    def _joined(self) -> bytes:
        return b"".join((*self.words, b" ", *self.title))

    @cached_property
    def numbers(self) -> set[str]:
        """The numbers of the text."""
        return set(_NUMBER.findall(self.text))

    @cached_property
    def once(self) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
        """The shingles that occur once, sorted, and where they begin."""
        found, first, counts = np.unique(self.hashes, return_index=True, return_counts=True)
        return found[counts == 1], first[counts == 1]

    def capital(self, place: int) -> bool | None:
        """Return True if the word begins with a capital, False if it could, otherwise None."""
        first = self._written[place][0][:1] if self._written else "-"
        return True if first.isupper() else False if first.title() != first else None

    def is_name(self, place: int) -> bool:
        """Return True if the word is capitalized within a sentence."""
        if not self.capital(place):
            return False
        start = self._written[place].start()
        before = self.text[max(0, start - 4) : start].rstrip(_OPENING)
        return before[-1:].isalnum() or before[-1:] == ","

    @cached_property
    def names(self) -> set[bytes]:
        """The words that are names."""
        return {word for place, word in enumerate(self.words) if self.is_name(place)}

    @cached_property
    def _written(self) -> list[re.Match[str]]:
        """The words as they are written; empty if they do not correspond to the folded words."""
        text = self.text.replace("_", " ")
        found = list(word_pattern(text).finditer(text))
        return found if len(found) == len(self.words) else []


def _are_in(hashes: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of the hashes are in the sorted array ``known``."""
    if not len(known):
        return np.zeros(len(hashes), dtype=np.bool_)
    found: NDArray[np.bool_] = known.take(known.searchsorted(hashes), mode="clip") == hashes
    return found


def _spread(starts: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """Return which words are in a run of ``length`` words that begins at one of ``starts``."""
    found = np.zeros(len(starts) + length - 1, dtype=np.bool_)
    for shift in range(length):
        found[shift : shift + len(starts)] |= starts
    return found


def compare(one: Text, other: Text) -> Likeness:
    """Return how similar two articles are. The order of the articles does not matter."""
    if (len(other.words), other.words, other.title) < (len(one.words), one.words, one.title):
        one, other = other, one
    both = int(np.count_nonzero(_are_in(one.shingles, other.shingles)))
    alike = both / max(1, len(one.shingles) + len(other.shingles) - both)
    shared = _are_in(one.hashes, other.shingles)
    passages = shared[:-2] & shared[1:-1] & shared[2:]
    covered = float(_spread(passages, RUN).mean()) if len(passages) else 0.0
    found = Likeness(alike, covered)
    if not found.is_link or one.words == other.words:
        return found
    return Likeness(alike, covered, _Differences(one, other).change(alike))


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a place. In scripts without spaces, it is a run of characters."""

    place: int
    word: bytes
    length: int = 1
    """Number of words of the text in the term."""


_Place = tuple[list[_Term], list[_Term]]


class _Differences:
    """The names, numbers and other words in which two articles differ."""

    def __init__(self, one: Text, other: Text) -> None:
        self._texts = one, other
        self._one_site = one.source == other.source
        self._titles = set(one.title) - set(other.title), set(other.title) - set(one.title)
        self._lone = set(one.words) - other.known, set(other.words) - one.known

    @cached_property
    def _only(self) -> tuple[set[bytes], set[bytes]]:
        """The words of each text that the other article does not have in any form."""
        mine, theirs = self._lone
        return _without_forms(mine, theirs), _without_forms(theirs, mine)

    def change(self, alike: float) -> Change:
        """Return what the differences say about the news of the articles."""
        one, other = self._texts
        figures = min(len(one.numbers - other.numbers), len(other.numbers - one.numbers))
        is_date = self._one_site and (
            _other_day(one.title, other.title) or _other_day(one.words[:_LEAD], other.words[:_LEAD])
        )
        subject, names = self._names()
        if not (figures or is_date or any(names)):
            return Change.NONE
        if self._purity(names) < _PURE:
            return Change.ISSUE if is_date else Change.NONE
        subject |= is_date
        replaced = figures + (max(map(_distinct, names)) if subject else 0)
        outweighs = (_SUBJECT if subject else _FIGURES)[0 if self._one_site else 1] * replaced > self._kept()
        if subject and (outweighs or is_date):
            return Change.FILLING if replaced > 1 else Change.ISSUE
        if not subject and outweighs and figures >= _LEAST_FIGURES and (self._one_site or alike < _CLOSE):
            return Change.FILLING
        return Change.NAMES if any(names) else Change.FIGURES

    def _names(self) -> tuple[bool, _Place]:
        """Return whether the subject was replaced, and the replaced words that are or may be names.

        Sites edit copies of one text. There, only a replaced word of the headlines means different news.
        """
        subject = False
        names: _Place = [], []
        unclear: _Place = [], []
        starts = [[{word[:3] for word in words} for words in both] for both in (self._titles, self._lone)]
        may_be = self._one_site or not any(map(set.isdisjoint, *starts))
        for place in _places(*self._texts) if may_be else ():
            only = self._replaced(place)
            sides = list(zip((0, 1), self._texts, only, strict=True))
            titled = [
                [term for term in terms if self._is_titled(side, term.word)] for side, _, terms in sides
            ]
            named = [[term for term in terms if text.is_name(term.place)] for _, text, terms in sides]
            if self._one_site:
                in_lead = max(terms[0].place for terms in place if terms) < _LEAD
                subject |= all(titled) or (any(titled) and not all(place)) or (all(named) and in_lead)
            # Sites also convert units.
            elif not all(any(_is_number(term.word) for term in terms) for terms in place):
                capitals = {text.capital(term.place) for side, text, _ in sides for term in titled[side]}
                subject |= all(titled) and False not in capitals
            for side, text, terms in sides:
                names[side].extend(titled[side] + (named[side] if all(named) else []))
                unclear[side].extend(term for term in terms if text.capital(term.place) is None)
        if subject:
            return True, (names[0] + unclear[0], names[1] + unclear[1])
        return False, names if self._one_site else ([], [])

    def _replaced(self, place: _Place) -> list[list[_Term]]:
        """Return the words of a place that only one article has and that are not forms of one word."""
        found = []
        for terms, only, other in zip(place, self._only, reversed(self._texts), strict=True):
            words = [term for term in terms if not _is_number(term.word)]
            replaced = [t for t in words if (t.word in only if t.length == 1 else not other.has(t.word))]
            # The words of a name may occur elsewhere, but not as this name.
            if not replaced and 1 < len(words) <= _NAME:
                name = _Term(words[0].place, b" ".join(term.word for term in words), len(words))
                replaced = [] if other.has(name.word) else [name]
            found.append(replaced)
        return found

    def _is_titled(self, side: int, word: bytes) -> bool:
        """Return True if the headline has the word, and the other headline does not have it."""
        if b" " in word or _is_unspaced(word):
            space = b" " if b" " in word else b""
            titles = [space.join(text.title) for text in self._texts]
            return word in titles[side] and word not in titles[1 - side]
        return word in self._titles[side] or any(are_forms(word, other) for other in self._titles[side])

    def _purity(self, names: _Place) -> float:
        """Return the share of names and numbers in the words that only one text has."""
        changed = found = 0
        for text, words, terms, title in zip(self._texts, self._only, names, self._titles, strict=True):
            special = {word for term in terms for word in text.words[term.place : term.place + term.length]}
            left = words | special
            changed += len(left)
            found += sum(word in special or word in title or _DIGIT.search(word) is not None for word in left)
        return found / changed if changed else 1.0

    def _kept(self) -> int:
        """Return the number of names and numbers that both texts have."""
        one, other = self._texts
        informative = all(len(text.names) <= _CAPITALS * len(text.known) for text in self._texts)
        return len(one.numbers & other.numbers) + (len(one.names & other.names) if informative else 0)


def _distinct(terms: list[_Term]) -> int:
    """Return the number of different words, without forms of one word."""
    words = sorted({term.word for term in terms})
    return len(words) - sum(are_forms(one, other) for one, other in pairwise(words))


def _without_forms(words: set[bytes], others: set[bytes]) -> set[bytes]:
    """Return the words of which ``others`` has no form.

    In alphabetical order, a form of a word is beside it.
    """
    ordered = sorted(others)
    places = ((word, bisect_left(ordered, word)) for word in words)
    return {w for w, at in places if not any(are_forms(w, one) for one in ordered[max(0, at - 1) : at + 1])}


def _other_day(one: list[bytes], other: list[bytes]) -> bool:
    """Return True if both lists of words have dates, but none in common."""
    days = [
        {word for at, word in enumerate(words) if _is_number(word) and _is_date(words, at)}
        for words in (one, other)
    ]
    return all(days) and days[0].isdisjoint(days[1])


def _places(one: Text, other: Text) -> Iterator[_Place]:
    """Yield the places in which the texts differ, with the words that stand there."""
    for start, end, first, last in _gaps(one, other):
        if start == end or first == last:
            if 0 < end - start + last - first <= _ADDED:
                yield _terms(one, start, end), _terms(other, first, last)
        elif max(end - start, last - first) <= _LONGEST:
            words = one.words[start:end], other.words[first:last]
            for i, j, k, m in _replacements(*words):
                # "US" and "U.S." are one word
                if b"".join(words[0][i:j]) != b"".join(words[1][k:m]):
                    yield _terms(one, start + i, start + j), _terms(other, first + k, first + m)


def _gaps(one: Text, other: Text) -> Iterator[tuple[int, int, int, int]]:
    """Yield the beginning and the end, in both texts, of each stretch between two shared passages.

    The passages consist of shingles that occur once, and follow each other in both texts.
    """
    hashes, starts = one.once
    known, known_starts = other.once
    found = _are_in(hashes, known)
    mine, its = starts[found], known_starts[known.searchsorted(hashes[found])]
    order = mine.argsort()
    mine, its = mine[order], its[order]
    edges = np.flatnonzero((np.diff(mine) != 1) | (np.diff(its) != 1)) + 1
    edges = np.concatenate(([0], edges, [len(mine)]))
    end = last = 0
    for at, until in pairwise(edges.tolist()):
        # Single shingles occur by chance, above all in scripts without spaces.
        if until - at > RUN - SHINGLE:
            yield from _between(end, int(mine[at]), last, int(its[at]))
            end, last = int(mine[until - 1]) + SHINGLE, int(its[until - 1]) + SHINGLE
    yield from _between(end, len(one.words), last, len(other.words))


def _between(start: int, end: int, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
    # If a text repeats words, the passages overlap. If the passages are far back, they were moved.
    overlap = max(0, start - end, first - last)
    if overlap < SHINGLE:
        yield start - overlap, end, first - overlap, last


def _replacements(one: list[bytes], other: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the beginning and the end, in both lists, of the words that differ."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    start = first = 0
    for end, last, length in blocks:
        # In scripts without spaces, two names may have a character in common.
        if 0 < length < SHINGLE and end > 0 and end + length < len(one) and _is_unspaced(one[end]):
            continue
        if (start, first) != (end, last):
            yield start, end, first, last
        start, first = end + length, last + length


def _terms(text: Text, start: int, end: int) -> list[_Term]:
    found: list[_Term] = []
    for unspaced, some in groupby(range(start, end), lambda place: _is_unspaced(text.words[place])):
        places = list(some)
        words = [text.words[place] for place in places]
        found += [_Term(places[0], b"".join(words), len(words))] if unspaced else map(_Term, places, words)
    return found


def _is_unspaced(word: bytes) -> bool:
    return word[0] >= 0xE0 and _UNSPACED.match(word.decode()) is not None


def _is_number(word: bytes) -> bool:
    return word[:1].isdigit() or (word[0] > 0x7F and word.decode()[0].isdigit())


def are_forms(one: bytes, other: bytes) -> bool:
    """Return True if two words are probably forms of one word: more than half of the longer one is equal."""
    if one[:2] != other[:2]:
        return False
    longest = max(len(one), len(other))
    if longest < 4 or _is_unspaced(one):
        return False
    stem = longest // 2 + 1
    return one[:stem] == other[:stem] or one.startswith(other) or other.startswith(one)


def _is_date(words: list[bytes], place: int) -> bool:
    """Return True if the number is a year, is beside the name of a month, or is in a numeric date."""
    near = [words[at].decode() if 0 <= at < len(words) else "" for at in range(place - 2, place + 3)]
    two_before, before, word, after, _ = near
    names = before, after, word + after, two_before + before
    if _YEAR.fullmatch(word) or any(month(name) for name in names if name):
        return True
    return any(
        all(part.isdigit() for part in near[at : at + 3]) and any(map(_YEAR.fullmatch, near[at : at + 3]))
        for at in range(3)
    )
