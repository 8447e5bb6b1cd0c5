"""What a text is to the texts that resemble it. Pure: no clock, no database.

For the nearest neighbours, with similarity J (estimated Jaccard of three-word shingles):

* **J ≥ .5** → a *member* of the neighbour's story. On real articles of one day the best border between
  the same article and another one lies at J = .52; what is found between .5 and .6 beyond that are
  abridged copies of the same message, which belong to the story too.
* **J ≥ .9, same source** → a *near duplicate*: the same article again under another address, or its
  revision. It is kept, marked with ``duplicate_of``.
* **Number guard, same source**: when both texts carry numbers and share under half of them, they are
  different news from one template (weather, markets, results), however alike their words. Numbers are
  compared within a source only: agencies' copies elsewhere are cut, and lose numbers.

A text without such a neighbour begins a story of its own. Nothing is dropped here; what is dropped is
only the exact same text within a source (:mod:`newsbot.dedup.exact`, storage).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from newsbot.dedup.index import Near
from newsbot.urls import fingerprint
from newsbot.words import MAX_TEXT

SAME_STORY = 0.5
SAME_ARTICLE = 0.9
SHARED_NUMBERS = 0.5

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_MAX_NUMBERS = 1000


class Relation(StrEnum):
    """What a text is to the story it is put into."""

    NEW = "new"
    """Nothing seen lately resembles it: it begins a story."""
    MEMBER = "member"
    """It tells the same thing as another article."""
    NEAR_DUPLICATE = "near_duplicate"
    """It is almost the same text as another article of its source."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A near text with what is needed to judge it."""

    near: Near
    story: str | None
    """The story of the stored article; None if it is in none, or not stored (yet)."""
    numbers: frozenset[str] | None = None
    """:func:`numbers_in` its text; None where unknown (the guard then holds nothing against it)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an article belongs."""

    story: str
    relation: Relation
    duplicate_of: str | None = None
    """Canonical URL of the article it nearly equals."""
    similarity: float = 0.0
    """To the neighbour that decided; 0 for a new one."""
    witness: str | None = None
    """Canonical URL of that neighbour: its story was taken, or, as long as it is in none, the one that it
    would begin (:mod:`newsbot.dedup.settling`)."""


def decide(url: str, source: str, numbers: frozenset[str], neighbours: Iterable[Neighbour]) -> Decision:
    """Decide where the article with the canonical ``url`` belongs.

    ``numbers`` are :func:`numbers_in` its text. The order of neighbours does not matter: the most
    similar one that passes the guard decides, the same source before others among equals. The page
    itself under another form of its address (http, https) is no neighbour.
    """
    own = story_id(url)
    likely = [
        neighbour
        for neighbour in neighbours
        if _may_belong(source, numbers, neighbour) and story_id(neighbour.near.doc_id) != own
    ]
    if not likely:
        return Decision(own, Relation.NEW)
    best = max(likely, key=lambda item: (item.near.similarity, item.near.source == source, item.near.doc_id))
    witness = best.near.doc_id
    story = best.story or story_id(witness)
    twins = [
        neighbour
        for neighbour in likely
        if neighbour.near.source == source and neighbour.near.similarity >= SAME_ARTICLE
    ]
    if not twins:
        return Decision(story, Relation.MEMBER, None, best.near.similarity, witness)
    twin = max(twins, key=lambda item: (item.near.similarity, item.near.doc_id))
    return Decision(story, Relation.NEAR_DUPLICATE, twin.near.doc_id, twin.near.similarity, witness)


def story_id(url: str) -> str:
    """Return the id of the story that the article with this canonical URL begins: stable for ever."""
    return fingerprint(url).hex()


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of ``text`` as written, up to the first thousand."""
    found: set[str] = set()
    for match in _NUMBER.finditer(text[:MAX_TEXT]):
        found.add(match[0])
        if len(found) >= _MAX_NUMBERS:
            break
    return frozenset(found)


def different_news(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two alike texts differ in their numbers: both have some and share under half.

    The share is of the smaller set, so that an abridged text is not held to be another one.
    """
    if not one or not other:
        return False
    return len(one & other) < SHARED_NUMBERS * min(len(one), len(other))


def _may_belong(source: str, numbers: frozenset[str], neighbour: Neighbour) -> bool:
    if neighbour.near.similarity < SAME_STORY:
        return False
    if neighbour.near.source != source or neighbour.numbers is None:
        return True
    return not different_news(numbers, neighbour.numbers)
