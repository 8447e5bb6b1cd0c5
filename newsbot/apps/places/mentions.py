"""Finds the places that a text names.

Many names of places are also words or names of people: Nice, Bath, Essen, Орёл, Владимир. So the name of a
country or of a large city counts unless it is a part of a longer name (Paris Hilton, London Bridge). The name
of another place counts if the text says that it is a place: after a preposition of place (in Essen, в Орле),
before the country or state (Mobile, Alabama), or at the beginning of a report (NICE, May 3 –). If it counts
once, the other mentions are of the same place.

Of several places with one name, the text means the one whose country or state it names next to it, or else
the largest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from newsbot.apps.places.gazetteer import Gazetteer, Place, forms, gazetteer, is_of_person

MAX_CHARACTERS = 50_000
"""Maximum length of the text that is read."""
BEFORE = {
    "en": "in at near outside around across",
    "de": "in aus bei zwischen",
    "ru": "в во из под около близ между",
}
"""Prepositions of place. Those that often stand before people (of Florence) or other nouns (nach Essen) are
left out."""
AND = frozenset(("and", "und", "и"))
CITY_WORDS = frozenset(
    [
        "city",
        "town",
        "stadt",
        "город",
        "городе",
        "города",
        "городу",
        "г",
        "гор",
        "stadtteil",
        "gemeinde",
        "village",
    ]
)
"""Words before a name that say that it is a place."""
_TOKEN = re.compile(r"[^\W\d_]+(?:['’]s\b)?|\d+|[^\w\s]")
_SENTENCE_END = frozenset('.!?:;«»"“”„()–—•…|/')
_DATELINE = frozenset("(–—-,./")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.text[:1].isupper() and self.text[0].isalpha()


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text, and whether the text says that it is one."""

    place: Place
    sure: bool


def places_in(title: str, text: str, language: str) -> dict[str, Place]:
    """Return the places that an article names, by label, in the order in which they are named."""
    known = gazetteer()
    lines = [title, *text[:MAX_CHARACTERS].split("\n")]
    found = [
        one for number, line in enumerate(lines) for one in _Line(known, line, language, number).mentions()
    ]
    sure = {one.place.label for one in found if one.sure}
    return {one.place.label: one.place for one in found if one.place.label in sure}


class _Line:
    """One paragraph."""

    def __init__(self, known: Gazetteer, line: str, language: str, number: int) -> None:
        self._known, self._language, self._number = known, language, number
        self._tokens = [_Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(line)]
        long = [one for one in self._tokens if len(one.text) > 3 and one.text[0].isalpha()]
        # In Headlines Like This One, a capital letter says nothing.
        self._is_titled = (
            language != "de" and len(long) > 2 and sum(one.is_name for one in long) > 0.7 * len(long)
        )
        self._before = frozenset(BEFORE.get(language, "").split())

    def mentions(self) -> Iterator[Mention]:
        at, end, last = 0, -1, False
        while at < len(self._tokens):
            match = self._at(at)
            if match is None:
                at += 1
                continue
            places, size = match
            found = self._judged(places, at, size)
            if last and end == at - 1 and self._text(end) in AND:  # between Samara and Saratov
                found = replace(found, sure=True)
            yield found
            at += size
            end, last = at, found.sure

    def _at(self, at: int) -> tuple[list[Place], int] | None:
        """Return the places with the longest name that begins at a token, and its number of tokens."""
        token = self._tokens[at]
        if not token.is_name:
            return None
        starts = forms(_bare(token.text), self._language)
        longest = max((self._known.first.get(start, 0) for start in starts), default=0)
        runs: list[tuple[str, ...]] = [()]
        found, size, place = None, 0, at
        while longest and place < len(self._tokens):
            one = self._tokens[place]
            if one.text == "-" and runs != [()]:  # Ростов-на-Дону
                place += 1
                continue
            if not one.text[0].isalpha():
                break
            runs = [(*run, form) for run in runs for form in forms(_bare(one.text), self._language)][:64]
            place += 1
            named = [here for run in runs for here in self._known.names.get(run, ())]
            if named and (len(runs[0]) > 1 or one.is_name):
                found, size = list(dict.fromkeys(named)), place - at
            if len(runs[0]) >= longest:
                break
        return None if found is None else (found, size)

    def _judged(self, places: list[Place], at: int, size: int) -> Mention:
        after = self._region_after(at + size)
        inside = [one for one in places if after and {one.country, one.state} & after]
        chosen = max(inside or places, key=lambda one: one.people)
        if inside:
            return Mention(chosen, sure=True)
        if self._is_part_of_name(at, size):
            return Mention(chosen, sure=False)
        words = size > 1 and chosen.people > 0
        prominent = chosen.prominent or (words and not self._is_titled)
        return Mention(chosen, sure=prominent or self._is_said(at, size))

    def _region_after(self, at: int) -> set[str]:
        """Return the labels of the country or state in ``Mobile, Alabama`` and ``Moscow (Idaho)``."""
        match = self._at(at + 1) if self._text(at) in (",", "(") and at + 1 < len(self._tokens) else None
        return set() if match is None else {one.label for one in match[0] if not one.label.isdecimal()}

    def _is_said(self, at: int, size: int) -> bool:
        """Return True if the words around a name say that it is a place."""
        before = self._text(at - 1).casefold()
        if before in CITY_WORDS or (before == "." and self._text(at - 2).casefold() == "г"):
            return True
        if before in self._before and not self._is_titled:
            return True
        # NICE, May 3 – The mayor …
        token = self._tokens[at]
        is_first = at == 0 and self._number > 0
        return (
            is_first and token.text.isupper() and len(token.text) > 3 and self._text(at + size) in _DATELINE
        )

    def _is_part_of_name(self, at: int, size: int) -> bool:
        """Return True if a name stands beside another word with a capital letter, in the same sentence.

        In German, all nouns have one, so nothing can be seen from it. In Russian, it has to be a name of a
        person beside a place that can be one too: Владимир Петров, but not министр спорта России Олег Петров.
        """
        if self._is_titled or self._language == "de":
            return False
        if self._language == "ru":
            words = [self._text(at - 1), self._text(at), self._text(at + size)]
            people = [len(word) > 2 and word[0].isupper() and is_of_person(word) for word in words]
            return people[0] or (people[1] and people[2])
        after = self._tokens[at + size] if at + size < len(self._tokens) else None
        owned = self._tokens[at + size - 1].text.endswith(("'s", "’s"))
        if after is not None and after.is_name and not owned:
            return True
        before = self._tokens[at - 1] if at else None
        if before is None or not before.is_name:
            return False
        if at >= 2 and self._text(at - 2) not in _SENTENCE_END:
            return True
        # The first word of a sentence has a capital letter in any case.
        return len(before.text) > 3 and before.text.casefold() not in self._before

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s")) else word
