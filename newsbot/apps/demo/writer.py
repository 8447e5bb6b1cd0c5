"""Makes invented news stories from the sentence templates and words of a YAML file."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

SENTENCES = 24
"""Number of sentences of a story."""
PER_PARAGRAPH = 3
CUT = 4
"""Number of sentences that another site leaves out when it edits a story."""
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def load(name: str) -> Any:
    """Return the content of a YAML file of this package."""
    return yaml.safe_load(files("newsbot.apps.demo").joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def fill(template: str, words: Mapping[str, Any], rng: random.Random) -> str:
    """Return the template with each ``{slot}`` replaced by a random word of this slot.

    ``{Slot}`` gives a word with a capital letter. Words may contain slots themselves.
    """

    def word(slot: re.Match[str]) -> str:
        choice = words[slot[1].lower()]
        text = fill(str(rng.choice(choice) if isinstance(choice, list) else choice), words, rng)
        return text[0].upper() + text[1:] if slot[1][0].isupper() else text

    return _SLOT.sub(word, template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The text of one article, before a site publishes it."""

    language: str
    topic: str
    label: str
    """The topic's name for readers."""
    town: str
    subject: str
    title: str
    sentences: tuple[str, ...]
    author: str
    family: str
    """The title under which the story was first published. It is the same for edited versions."""
    template: str = ""
    """The template of a report; empty for other stories.

    Reports from the same template differ only in their numbers.
    """

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs, each of several sentences."""
        starts = range(0, len(self.sentences), PER_PARAGRAPH)
        return [" ".join(self.sentences[start : start + PER_PARAGRAPH]) for start in starts]

    @property
    def summary(self) -> str:
        """The first sentence, which is shown below headlines and in feeds."""
        return self.sentences[0]


class Writer:
    """Writes stories in one language, each with its own title.

    Two random generators ``rng`` in the same state give the same stories.
    """

    def __init__(self, language: str, rng: random.Random) -> None:
        self._language = language
        self._rng = rng
        self._words: dict[str, Any] = load(language)
        # e.g. "a old" becomes "an old"
        self._repairs = [(re.compile(pattern), better) for pattern, better in self._words["repairs"]]
        self._titles: set[str] = set()

    def story(self) -> Story:
        """Return a new story."""
        words = self._cast(self._rng.choice(list(self._words["topics"])))
        # Together with the lead, the story has SENTENCES sentences.
        body = self._rng.sample(words["fact"], 3) + self._rng.sample(words["general"], SENTENCES - 4)
        self._rng.shuffle(body)
        return self._story(words, words["title"], [self._rng.choice(words["lead"]), *body])

    def report(self, number: int) -> Story:
        """Return a weather report. All reports have the same words, but different numbers."""
        words = {**self._cast("transport"), "edition": number}
        return replace(self._story(words, words["report_title"], words["report"]), template=self._language)

    def edited(self, story: Story) -> Story:
        """Return the story as another site would publish it.

        It has a new title and author, some sentences are left out, and one sentence is added.
        """
        words = {**self._cast(story.topic), "home": story.town, "object": story.subject}
        sentences = list(story.sentences)
        for _ in range(CUT):
            # The first sentence stays, because it is the summary.
            sentences.pop(self._rng.randrange(1, len(sentences)))
        sentences.insert(PER_PARAGRAPH, self._fill(self._rng.choice(words["edit"]), words))
        title = self._title(words, words["title"])
        return replace(story, title=title, sentences=tuple(sentences), author=words["person"])

    def _story(self, words: Mapping[str, Any], titles: Sequence[str], body: Sequence[str]) -> Story:
        title = self._title(words, titles)
        return Story(
            language=self._language,
            topic=words["topic"],
            label=words["label"],
            town=words["home"],
            subject=words["object"],
            title=title,
            sentences=tuple(self._fill(template, words) for template in body),
            author=fill("{person}", self._words, self._rng),
            family=title,
        )

    def _cast(self, topic: str) -> dict[str, Any]:
        """Return the words for one story: the words of its topic, and a town, a subject and two speakers.

        The town, the subject and the speakers are drawn once, so they stay the same in the whole story.
        """
        words = {**self._words, **self._words["topics"][topic], "topic": topic}
        for name, slot in (("home", "town"), ("object", "object"), ("other", "person"), ("person", "person")):
            words[name] = fill(f"{{{slot}}}", words, self._rng)
        role, role2 = self._rng.sample(words["role"], 2)
        return words | {"last": words["person"].split()[-1], "role": role, "role2": role2}

    def _title(self, words: Mapping[str, Any], titles: Sequence[str]) -> str:
        while (title := self._fill(self._rng.choice(titles), words)) in self._titles:
            pass
        self._titles.add(title)
        return title

    def _fill(self, template: str, words: Mapping[str, Any]) -> str:
        text = fill(template, words, self._rng)
        for pattern, better in self._repairs:
            text = pattern.sub(better, text)
        return text[0].upper() + text[1:]
