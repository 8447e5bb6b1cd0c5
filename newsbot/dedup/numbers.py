"""The number guard compares the numbers of two similar texts, and recognizes texts that report different
news.

Forecasts, market reports and results are written from templates: the words stay, the numbers change. A
correction changes one number of many. An abridged copy loses numbers, and an update adds some. Therefore only
*replaced* numbers count: the first text has numbers that the second one lacks, and the second one has numbers
that the first one lacks.

If both texts are from one source, all their numbers are compared. Similar texts of different sources are
usually edited copies, and rarely issues of one template. Their numbers are therefore compared only next to
words that both texts have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from newsbot.text.months import MONTHS
from newsbot.text.words import MAX_TEXT

SAME_ARTICLE = 0.9
"""Minimum Jaccard similarity of two texts that are almost identical."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d\d|\d{4})")
_MAX_NUMBERS = 1000
_AROUND = 40
"""Number of characters before and after a number that are searched for words."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a text. "5 December" is the number ``5/12``: the month's number is added."""

    written: frozenset[str]
    """All numbers, as the text writes them."""
    dates: frozenset[str]
    """The numbers that are dates."""
    beside: Mapping[str, frozenset[str]]
    """Maps ``<word`` to the numbers that follow the word, and ``>word`` to the numbers that precede it."""


def numbers_in(text: str) -> Numbers:
    """Return the first thousand different numbers of ``text``."""
    written: set[str] = set()
    dates: set[str] = set()
    beside: dict[str, set[str]] = {}
    for match in _NUMBER.finditer(text[:MAX_TEXT]):
        number, start, end = match[0], match.start(), match.end()
        words = _WORD.findall(text[max(0, start - _AROUND) : start].lower())
        before = words[-1] if words else ""
        word = _WORD.search(text, end, end + _AROUND)
        behind = word[0].lower() if word else ""
        # "5 December" or "December 5"
        month = MONTHS.get(behind) or MONTHS.get(before)
        if month:
            number = f"{number}/{month}"
        if month or _DATE.fullmatch(number):
            dates.add(number)
        written.add(number)
        beside.setdefault(f"<{before}", set()).add(number)
        beside.setdefault(f">{behind}", set()).add(number)
        if len(written) >= _MAX_NUMBERS:
            break
    return Numbers(frozenset(written), frozenset(dates), {word: frozenset(at) for word, at in beside.items()})


def different_news(one: Numbers, other: Numbers, alike: float = 0.0, *, one_source: bool = True) -> bool:
    """Return True if two similar texts report different news, judged by their numbers.

    This is the case if each text has at least as many numbers that the other one lacks as both texts share.
    ``alike`` is the Jaccard similarity of the texts. A single replaced number in almost identical texts is a
    correction, unless it is a date. If the texts are from different sources (``one_source`` False), a single
    replaced number is never enough.
    """
    if one_source:
        shared = one.written & other.written
        lost, gained = one.written - shared, other.written - shared
    else:
        shared, lost, gained = _by_place(one, other)
    # an abridged text only loses numbers and an extended text only gains some: both give 0 here
    replaced = min(len(lost), len(gained))
    if replaced < max(1, len(shared)):
        return False
    if replaced > 1:
        return True
    is_day = not (one.dates | other.dates).isdisjoint(lost | gained)
    return one_source and (is_day or alike < SAME_ARTICLE)


def _by_place(one: Numbers, other: Numbers) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Compare only numbers that stand next to a word that both texts have next to a number.

    Return the numbers that both texts have, those that only ``one`` has, and those that only ``other`` has.
    """
    shared: set[str] = set()
    lost: set[str] = set()
    gained: set[str] = set()
    for word in one.beside.keys() & other.beside.keys():
        mine, theirs = one.beside[word], other.beside[word]
        both = mine & theirs
        shared |= both
        # at this word each text has a number that the other text lacks
        if len(both) < min(len(mine), len(theirs)):
            lost |= mine - both
            gained |= theirs - both
    return frozenset(shared), frozenset(lost - shared), frozenset(gained - shared)
