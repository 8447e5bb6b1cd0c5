"""Compares two articles word by word: how much text they share, and what stands in the places that differ.

A *place* is a stretch between two runs of words that both texts have, if each text has other words there. The
words of a place that only one of the two articles has were *replaced*. Numbers, and words that are names,
tell whether the articles report the same news (:class:`Change`):

* In a template (weather, markets, results, obituaries) the subject is replaced: the name, the town, the
  round, the date. It stands in the headline, or in the first words of the text. Hardly any other words
  differ.
* In a template of figures alone, most figures are replaced.
* In an updated, corrected or edited text, the names and most other words stay. Other words differ as well.

No language is known here, except for the names of months. A word is a name if it is capitalized within a
sentence. In scripts without capitals, only words of the headline are recognised.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from functools import cached_property
from itertools import groupby, product
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
_FIGURES = 3
"""Minimum number of replaced figures in a template of figures alone."""
_CLOSE = 0.85
"""Jaccard similarity from which texts of two sites are copies, even if all their figures differ."""
_LONGEST = 60
"""Maximum number of words in a place. Longer stretches were rewritten, not replaced."""
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
    """Only names and numbers were replaced, but the subject was not: an update, unless the text is known to
    be a template."""
    NAMES = 2
    """The same, and at least one of them is a name."""
    ISSUE = 3
    """A date in the headline or in the lead was replaced, and other text too: two issues of a series."""
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
        self._hashes = upper_halves(shingle_sums(self.words))
        self.shingles = distinct_hashes(self._hashes)
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

    def shared(self, other: Text) -> NDArray[np.bool_]:
        """Return which shingles, in text order, the other text has too."""
        return _are_in(self._hashes, other.shingles)

    def gaps(self, other: Text) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the stretches of words that are in no shingle of the other text.

        The keys are the shared shingles before and after the stretch.
        """
        alone = ~_spread(self.shared(other), SHINGLE)
        framed = np.concatenate(([False], alone, [False]))
        edges = np.flatnonzero(framed[1:] != framed[:-1]).tolist()
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            before = int(self._hashes[start - SHINGLE]) if start else -1
            # Three characters of a script without spaces occur by chance.
            bounded = end < len(self.words) and not _is_unspaced(self.words[start])
            found.setdefault((before, int(self._hashes[end]) if bounded else -1), (start, end))
        return found

    def capital(self, place: int) -> bool | None:
        """Return True if the word begins with a capital, False if with a small letter, otherwise None."""
        first = self._written[place][0][:1] if self._written else "-"
        return True if first.isupper() else False if first.islower() else None

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
    shared = one.shared(other)
    passages = shared[:-2] & shared[1:-1] & shared[2:]
    covered = float(_spread(passages, RUN).mean()) if len(passages) else 0.0
    found = Likeness(alike, covered)
    if not found.is_link or one.words == other.words:
        return found
    return Likeness(alike, covered, _Places(one, other).change(found))


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a place. In scripts without spaces, it is a run of characters."""

    place: int
    word: bytes


_Place = tuple[list[_Term], list[_Term]]
_Pair = tuple[_Term, _Term, bool]
"""A word of each article, and whether a number stands in the same place."""


class _Places:
    """The places in which two articles differ."""

    def __init__(self, one: Text, other: Text) -> None:
        self._texts = one, other
        self._one_site = one.source == other.source
        self._titles = set(one.title) - set(other.title), set(other.title) - set(one.title)
        self._places = list(_places(one, other))

    def change(self, likeness: Likeness) -> Change:
        """Return what the places say about the news of the articles."""
        figures, is_date = 0, self._other_day()
        pairs: list[_Pair] = []
        for place in self._places:
            numbers = [[term for term in terms if _is_number(term.word)] for terms in place]
            if all(numbers):
                figures += 1
                is_date |= self._one_site and _in_lead(place) and self._are_dates(numbers)
            pairs += ((*pair, any(numbers)) for pair in self._replaced(place))
        subjects, names, special = self._subjects(pairs)
        if not (subjects or is_date or figures or names):
            return Change.NONE
        if self._purity(special) < _PURE:
            return Change.ISSUE if is_date else Change.NONE
        if is_date or (subjects and (self._one_site or figures or subjects > 1)):
            return Change.FILLING
        if figures and self._is_series(likeness):
            return Change.FILLING
        return Change.NAMES if names else Change.FIGURES

    def _subjects(self, pairs: Sequence[_Pair]) -> tuple[int, int, tuple[set[bytes], set[bytes]]]:
        """Return the numbers of replaced subjects and names, and the words of both articles in them."""
        subjects = names = 0
        special: tuple[set[bytes], set[bytes]] = set(), set()
        titled = [self._is_titled(0, one.word) and self._is_titled(1, other.word) for one, other, _ in pairs]
        # Sites edit copies of one text. There, only a replaced word of the headlines means different news.
        if not (self._one_site or any(titled)):
            return subjects, names, special
        for (mine, theirs, with_number), in_titles in zip(pairs, titled, strict=True):
            named = self._texts[0].is_name(mine.place) and self._texts[1].is_name(theirs.place)
            names += named
            if in_titles:
                subjects += self._is_subject(mine, theirs, with_number)
            elif named:
                subjects += self._one_site and _in_lead(([mine], [theirs]))
            if named or in_titles:
                special[0].add(mine.word)
                special[1].add(theirs.word)
        return subjects, names, special

    def _other_day(self) -> bool:
        """Return True if the headlines of one site's articles have different dates."""
        days = [
            {
                word
                for place, word in enumerate(text.title)
                if _is_number(word) and _is_date(text.title, place)
            }
            for text in self._texts
        ]
        return self._one_site and all(days) and days[0].isdisjoint(days[1])

    def _are_dates(self, numbers: Sequence[Sequence[_Term]]) -> bool:
        both = zip(self._texts, numbers, strict=True)
        return all(any(_is_date(text.words, term.place) for term in terms) for text, terms in both)

    def _replaced(self, place: _Place) -> Iterator[tuple[_Term, _Term]]:
        """Yield the pairs of words that only one article has and that are not forms of one word."""
        only: list[list[_Term]] = []
        for terms, other in zip(place, reversed(self._texts), strict=True):
            words = [term for term in terms if not _is_number(term.word)]
            found = [term for term in words if not other.has(term.word)]
            # The words of a name may occur elsewhere, but not as this name.
            if not found and 1 < len(words) <= _NAME:
                name = _Term(words[0].place, b" ".join(term.word for term in words))
                found = [] if other.has(name.word) else [name]
            only.append(found)
        return ((one, other) for one, other in product(*only) if not are_forms(one.word, other.word))

    def _is_titled(self, side: int, word: bytes) -> bool:
        """Return True if the headline has the word, and the other headline does not have it."""
        if b" " in word or _is_unspaced(word):
            space = b" " if b" " in word else b""
            titles = [space.join(text.title) for text in self._texts]
            return word in titles[side] and word not in titles[1 - side]
        return word in self._titles[side] or any(are_forms(word, other) for other in self._titles[side])

    def _is_subject(self, mine: _Term, theirs: _Term, with_number: bool) -> bool:
        """Return True if the two words of the headlines are the subjects of different news."""
        if self._one_site:
            return True
        # Sites convert units too, so the word is a name or, without capitals, has no number beside it.
        capitals = {self._texts[0].capital(mine.place), self._texts[1].capital(theirs.place)}
        return capitals == {True} or (capitals == {None} and not with_number)

    def _purity(self, special: tuple[set[bytes], set[bytes]]) -> float:
        """Return the share of names and numbers in the words that only one text has."""
        texts = zip(self._texts, reversed(self._texts), strict=True)
        only = [{word for word in text.words if word not in other.known} for text, other in texts]
        changed = found = 0
        for words, others, names, title in zip(only, reversed(only), special, self._titles, strict=True):
            starts = defaultdict[bytes, list[bytes]](list)
            for other in others:
                starts[other[:2]].append(other)
            forms = {word for word in words if any(are_forms(word, one) for one in starts.get(word[:2], ()))}
            left = (words - forms) | names
            changed += len(left)
            found += sum(word in names or word in title or _DIGIT.search(word) is not None for word in left)
        return found / changed if changed else 1.0

    def _is_series(self, likeness: Likeness) -> bool:
        """Return True if most figures were replaced, and hardly any name or number stays."""
        if not self._one_site and likeness.alike >= _CLOSE:
            return False
        one, other = (set(_NUMBER.findall(text.text)) for text in self._texts)
        replaced = min(len(one - other), len(other - one))
        weight = 2 * replaced if self._one_site else replaced
        if replaced < _FIGURES or weight <= len(one & other):
            return False
        return weight > len(one & other) + len(self._texts[0].names & self._texts[1].names)


def _places(one: Text, other: Text) -> Iterator[_Place]:
    """Yield the places in which each text has other words, with the words that stand there."""
    theirs = other.gaps(one)
    for key, (start, end) in one.gaps(other).items():
        first, last = theirs.get(key, (0, 0))
        if not 0 < max(end - start, last - first) <= _LONGEST or first == last:
            continue
        mine, its = list(_terms(one, start, end)), list(_terms(other, first, last))
        if len(mine) == len(its) == 1:
            yield mine, its
            continue
        words = [term.word for term in mine], [term.word for term in its]
        for tag, i, j, k, m in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
            # "US" and "U.S." are one word
            if tag == "replace" and b"".join(words[0][i:j]) != b"".join(words[1][k:m]):
                yield mine[i:j], its[k:m]


def _terms(text: Text, start: int, end: int) -> Iterator[_Term]:
    words = enumerate(text.words[start:end], start)
    for unspaced, some in groupby(words, lambda one: _is_unspaced(one[1])):
        terms = [_Term(place, word) for place, word in some]
        yield from [_Term(terms[0].place, b"".join(one.word for one in terms))] if unspaced else terms


def _is_unspaced(word: bytes) -> bool:
    return word[0] >= 0xE0 and _UNSPACED.match(word.decode()) is not None


def _in_lead(place: _Place) -> bool:
    return max(terms[0].place for terms in place) < _LEAD


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
