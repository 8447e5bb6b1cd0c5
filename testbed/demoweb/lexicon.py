"""Reads the word files beside this module: ``en.txt`` and ``ru.txt`` (their headers describe the format)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from testbed.demoweb.prose import FORMS, Language, Topic

_Sections = Mapping[str, Sequence[tuple[str, ...]]]

_REPAIRS = {
    "en": ((re.compile(r"\b([Aa]) (?=[aeio]|honest|un|up|ur)"), r"\1n "),),  # an answer, an honest one
    "ru": ((re.compile(r"\b([Оо]) (?=[аиоуэ])"), r"\1б "),),  # об ответе
}


@cache
def load_language(code: str) -> Language:
    """Return the language ``en`` or ``ru``."""
    text = files("testbed.demoweb").joinpath(f"{code}.txt").read_text(encoding="utf-8")
    sections = _parse(text)
    return Language(
        code=code,
        towns=sections["towns"],
        people=_people(sections),
        words=_words(sections),
        general=_first(sections["general"]),
        titles=_first(sections["titles"]),
        leads=_first(sections["leads"]),
        edits=_first(sections["edits"]),
        topics=[_topic(sections, slug, label) for slug, label in sections["topics"]],
        repairs=_REPAIRS[code],
    )


def _parse(text: str) -> _Sections:
    sections: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    name = ""
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif line and not line.startswith("#"):
            sections[name] += [tuple(entry.split(" | ")) for entry in line.split(" / ")]
    return sections


def _first(entries: Sequence[tuple[str, ...]]) -> list[str]:
    return [entry[0] for entry in entries]


def _people(sections: _Sections) -> list[tuple[str, str]]:
    """Join given names and surnames; women take the second form of a surname."""
    people = []
    for section, form in (("given", 0), ("given women", 1)):
        for given in _first(sections.get(section, ())):
            people += [(f"{given} {surname[form]}", surname[form]) for surname in sections["surnames"]]
    return people


def _words(sections: _Sections) -> dict[str, list[str]]:
    """Return the words of each slot; ``noun_gen`` and ``noun_prep`` are case forms of ``noun``."""
    words: dict[str, list[str]] = {}
    for section, entries in sections.items():
        kind, _, slot = section.partition(" ")
        if kind == "words":
            for number, suffix in enumerate(FORMS[: len(entries[0])]):
                words[slot + suffix] = [entry[number] for entry in entries]
    return words


def _topic(sections: _Sections, slug: str, label: str) -> Topic:
    objects, facts, roles = (_first(sections[f"{slug} {part}"]) for part in ("objects", "facts", "roles"))
    return Topic(slug, label, objects, facts, roles)
