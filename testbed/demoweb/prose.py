"""Generated news: titles and paragraphs in the style of regional papers, without repetitions.

A sentence is a template whose slots are filled with words of a language and a topic. An article keeps
its town, its two speakers and its subject throughout. All randomness comes from the given generator, so
that a seed gives the same text on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

SENTENCES = (22, 30)
PER_PARAGRAPH = (2, 4)
TOPIC_SHARE = 0.75
FORMS = ("", "_gen", "_prep")
"""Suffixes of slots: nominative, genitive, prepositional."""
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Topic:
    """One field of news.

    ``slug`` is its name in URLs. ``objects`` are nouns that can stand after words such as "the repair of".
    """

    slug: str
    label: str
    objects: Sequence[str]
    facts: Sequence[str]
    roles: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Words and sentence templates of one language.

    ``towns`` are tuples of forms (nominative, genitive, prepositional where there are cases),
    ``people`` are pairs of full name and surname, ``words`` maps a slot to the words that may fill it.
    """

    code: str
    towns: Sequence[tuple[str, ...]]
    people: Sequence[tuple[str, str]]
    words: Mapping[str, Sequence[str]]
    general: Sequence[str]
    titles: Sequence[str]
    leads: Sequence[str]
    edits: Sequence[str]
    topics: Sequence[Topic]
    repairs: Sequence[tuple[re.Pattern[str], str]] = ()
    """Replacements after the slots are filled, such as "a" before a vowel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The words of one article, before any site prints it."""

    language: str
    topic: Topic
    town: str
    subject: str
    title: str
    paragraphs: tuple[str, ...]
    author: str

    @property
    def text(self) -> str:
        """The paragraphs, one per line."""
        return "\n".join(self.paragraphs)

    @property
    def summary(self) -> str:
        """The first sentence, as printed under headlines and in feeds."""
        return self.paragraphs[0].split(". ")[0].rstrip(".") + "."


class Writer:
    """Writes stories in one language; titles never repeat."""

    def __init__(self, language: Language, rng: random.Random) -> None:
        self.language = language
        self._rng = rng
        self._titles: set[str] = set()

    def story(self, topic: Topic | None = None) -> Story:
        """Return a new story, about ``topic`` or a random one."""
        topic = topic or self._rng.choice(self.language.topics)
        slots = _Slots(self.language, topic, self._rng)
        return Story(
            language=self.language.code,
            topic=topic,
            town=slots.fixed["home"],
            subject=slots.fixed["object"],
            title=self._title(slots),
            paragraphs=self._paragraphs(slots),
            author=self._rng.choice(self.language.people)[0],
        )

    def edited(self, story: Story, *, dropped: int = 4) -> Story:
        """Return the story as edited by another paper: shortened, with a new title and one new sentence."""
        slots = _Slots(self.language, story.topic, self._rng, town=story.town, subject=story.subject)
        paragraphs = list(story.paragraphs)
        for _ in range(dropped):
            at = self._rng.randrange(1, len(paragraphs))
            sentences = _sentences(paragraphs[at])
            sentences.pop(self._rng.randrange(len(sentences)))
            paragraphs[at : at + 1] = [" ".join(sentences)] if sentences else []
        own = slots.fill(self._rng.choice(self.language.edits))
        paragraphs.insert(min(2, len(paragraphs)), own)
        return replace(
            story,
            title=self._title(slots),
            paragraphs=tuple(paragraphs),
            author=self._rng.choice(self.language.people)[0],
        )

    def _title(self, slots: _Slots) -> str:
        while True:
            title = slots.fill(self._rng.choice(self.language.titles))
            if title not in self._titles:
                self._titles.add(title)
                return title

    def _paragraphs(self, slots: _Slots) -> tuple[str, ...]:
        rng = self._rng
        count = rng.randint(*SENTENCES)
        facts = [fact for fact in slots.topic.facts if rng.random() < TOPIC_SHARE]
        general = rng.sample(list(self.language.general), min(count - len(facts), len(self.language.general)))
        templates = [*facts, *general]
        rng.shuffle(templates)
        sentences = [slots.fill(template) for template in (rng.choice(self.language.leads), *templates)]
        paragraphs: list[str] = []
        while sentences:
            size = rng.randint(*PER_PARAGRAPH)
            paragraphs.append(" ".join(sentences[:size]))
            sentences = sentences[size:]
        return tuple(paragraphs)


class _Slots:
    """The possible words for the slots of one article."""

    def __init__(
        self,
        language: Language,
        topic: Topic,
        rng: random.Random,
        *,
        town: str | None = None,
        subject: str | None = None,
    ) -> None:
        self.topic = topic
        self._language = language
        self._rng = rng
        home = next((forms for forms in language.towns if forms[0] == town), None) or rng.choice(
            language.towns
        )
        (person, last), (other, _) = rng.sample(language.people, 2)
        role, role2 = rng.sample(list(topic.roles), 2)
        self.fixed = {"person": person, "last": last, "other": other, "role": role, "role2": role2}
        self.fixed |= {"object": subject or rng.choice(topic.objects)}
        self.fixed |= _forms("home", home)

    def fill(self, template: str) -> str:
        town = _forms("town", self._rng.choice(self._language.towns))
        text = _SLOT.sub(lambda match: self._value(match[1], town), template)
        for pattern, better in self._language.repairs:
            text = pattern.sub(better, text)
        return text[0].upper() + text[1:]

    def _value(self, slot: str, town: Mapping[str, str]) -> str:
        fixed = self.fixed.get(slot) or town.get(slot)
        if fixed is not None:
            return fixed
        words = self._language.words.get(slot)
        if words is not None:
            return self._rng.choice(words)
        if slot in _NUMBERS:
            return str(self._rng.choice(_NUMBERS[slot]))
        # A slot with a capitalized name begins a sentence.
        text = self._rng.choice(self._language.words[slot.lower()])
        return text[0].upper() + text[1:]


def _counts(first: int, last: int) -> list[int]:
    """Return numbers that take the genitive plural in Russian (5 домов, not 2 дома or 21 дом)."""
    return [n for n in range(first, last + 1) if n % 10 in (0, 5, 6, 7, 8, 9) or n % 100 in range(11, 15)]


_NUMBERS: Mapping[str, Sequence[int]] = {
    "n": _counts(5, 99),
    "digit": range(2, 6),
    "hundreds": _counts(105, 990),
    "thousands": _counts(1100, 9800),
    "year": range(1996, 2015),
    "year2": range(2015, 2025),
    "oldyear": range(1420, 1891),
}


def _forms(name: str, forms: tuple[str, ...]) -> dict[str, str]:
    return {name + suffix: form for suffix, form in zip(FORMS, forms, strict=False)}


def _sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.!?»”\"]) (?=[A-ZА-ЯЁ«“\"])", paragraph)
