"""Decides what a text is to the texts that resemble it. Pure: no clock, no database.

J is the Jaccard similarity of the texts' three-word shingles, estimated by signatures; C the share of the
shorter text's shingles that the longer one has too. For the near texts of an article:

* **J ≥ .5** → a *member* of the story of each of them, so that a text that resembles two stories makes one of
  them. Where the texts are at hand J is exact and the border .52, which is the best one between the same
  article and another on real articles of one day; below it an estimate of .5 and more is noise.
* **J ≥ .9, same source** → a *revision*: the same article again under another address, or an update of it. It
  is kept, marked with ``duplicate_of``. Checked by the texts themselves where they are at hand.
* **C ≥ .62, J < .5** → *derived*: one is cut from, or built around, the other. The article says so
  (``derived_from``), the stories stay two: a digest of the day resembles all that it is made of.
* **Number guard, same source**: when both texts carry numbers and share no more of them than each has of
  its own, so under half of all, they are different news from one template (weather, markets, results),
  however alike their words. Numbers are compared within a source only: agencies' copies elsewhere are cut,
  and lose numbers.

A text without such a neighbour begins a story of its own, and so does one of under 25 words, which no
signature can compare. Nothing is dropped here; what is dropped is only the exact same text within a source
(:mod:`newsbot.dedup.minhash`, storage). The judgement of a pair is the same whichever of the two came first,
so the stories that come of it do not depend on the order of arrival.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from newsbot.dedup.index import Near
from newsbot.dedup.minhash import exact, shingle_hashes
from newsbot.items import Article
from newsbot.storage.stories import story_id
from newsbot.text.words import MAX_TEXT, token_bytes

__all__ = ["Decision", "Neighbour", "Relation", "decide", "different_news", "numbers_in", "story_id"]

SAME_STORY = 0.5
"""Estimated similarity of one story's texts …"""
SAME_STORY_EXACT = 0.52
"""… and that of the texts themselves, where they are at hand."""
SAME_ARTICLE = 0.9
DERIVED = 0.62
SHARED_NUMBERS = 0.5
_BLIND = 0.12
"""Similarity below which an estimated containment says nothing: the texts must be at hand."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_MAX_NUMBERS = 1000


class Relation(StrEnum):
    """What a text is to the story it is put into."""

    NEW = "new"
    """Nothing seen lately resembles it: it begins a story."""
    MEMBER = "member"
    """It tells the same thing as another article."""
    REVISION = "revision"
    """It is almost the same text as another article of its source."""
    DERIVED = "derived"
    """It begins a story, but shares most of one text with an article of another story."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A near text with what is needed to judge it."""

    near: Near
    story: str | None
    """The story of the stored article; None if it is in none, or not stored (yet)."""
    numbers: frozenset[str] | None = None
    """:func:`numbers_in` its text; None where unknown (the guard then holds nothing against it)."""
    exact: tuple[float, float] | None = None
    """J and C by the texts themselves (:func:`newsbot.dedup.minhash.exact`); None where unknown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an article belongs."""

    story: str
    """The story of the most similar peer that is in one, until all their stories are joined; else its own."""
    relation: Relation
    duplicate_of: str | None = None
    """Canonical URL of the article it nearly equals."""
    similarity: float = 0.0
    """To the neighbour that decided; 0 for a new one."""
    peers: tuple[str, ...] = ()
    """Canonical URLs of the articles whose stories are one with its own."""
    derived_from: str | None = None
    """Canonical URL of the article with which it shares most of the shorter text."""
    apart: bool = False
    """Whether their stories are not one yet, as far as is known: it is the bridge between them."""


def decide(url: str, source: str, numbers: frozenset[str], neighbours: Iterable[Neighbour]) -> Decision:
    """Decide where the article with the canonical ``url`` belongs.

    ``numbers`` are :func:`numbers_in` its text. The order of neighbours does not matter; among equally
    similar ones the same source goes before others. The page itself under another form of its address
    (http, https) is no neighbour.
    """
    own = story_id(url)
    likely = [
        neighbour
        for neighbour in neighbours
        if story_id(neighbour.near.doc_id) != own and not _is_other_news(source, numbers, neighbour)
    ]
    likely.sort(key=lambda one: (_jaccard(one), one.near.source == source, one.near.doc_id), reverse=True)
    peers = [neighbour for neighbour in likely if _is_of_one_story(neighbour)]
    if not peers:
        return _alone(own, likely)
    best = peers[0]
    story = next((peer.story for peer in peers if peer.story), own)
    twins = [one for one in peers if one.near.source == source and _jaccard(one) >= SAME_ARTICLE]
    nearest = twins[0] if twins else best
    return Decision(
        story,
        Relation.REVISION if twins else Relation.MEMBER,
        twins[0].near.doc_id if twins else None,
        _jaccard(nearest),
        tuple(sorted({one.near.doc_id for one in peers})),
        apart={one.story for one in peers} != {story},
    )


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of ``text`` as written, up to the first thousand."""
    found: set[str] = set()
    for match in _NUMBER.finditer(text[:MAX_TEXT]):
        found.add(match[0])
        if len(found) >= _MAX_NUMBERS:
            break
    return frozenset(found)


def different_news(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two alike texts differ in their numbers: both have as many of their own as they share.

    Then they share under half of all. Numbers that only one of them has beside the shared ones tell nothing:
    an abridged text is not another one, nor is an update that says more.
    """
    if not one or not other:
        return False
    return len(one & other) <= SHARED_NUMBERS * min(len(one), len(other))


def _alone(own: str, likely: list[Neighbour]) -> Decision:
    """Decide for an article without peers: it may be derived from one of another story."""
    sources = [one for one in likely if _contained(one) >= DERIVED]
    if not sources:
        return Decision(own, Relation.NEW)
    best = max(sources, key=lambda one: (_contained(one), _jaccard(one), one.near.doc_id))
    return Decision(own, Relation.DERIVED, None, _jaccard(best), derived_from=best.near.doc_id)


def _is_other_news(source: str, numbers: frozenset[str], neighbour: Neighbour) -> bool:
    if neighbour.near.source != source or neighbour.numbers is None:
        return False
    return different_news(numbers, neighbour.numbers)


def _is_of_one_story(neighbour: Neighbour) -> bool:
    return _jaccard(neighbour) >= (SAME_STORY if neighbour.exact is None else SAME_STORY_EXACT)


def _jaccard(neighbour: Neighbour) -> float:
    return neighbour.near.similarity if neighbour.exact is None else neighbour.exact[0]


def _contained(neighbour: Neighbour) -> float:
    if neighbour.exact is not None:
        return neighbour.exact[1]
    return neighbour.near.contained if neighbour.near.similarity >= _BLIND else 0.0


ANOTHER_TEXT = 0.3
"""Similarity below which two texts cannot be versions of one article, unless one is cut from the other."""
LEAST_WORDS = 25
"""Of shorter texts only the headlines tell."""
HEADLINE_WORDS = 4
"""Shorter ones ("Weather", "Read more") say nothing."""
SAME_HEADLINE, OTHER_HEADLINE = 0.8, 0.4


def is_one_article(one: Article, other: Article) -> bool:
    """Return True if the texts are one article's: the same, cut from each other, or versions of it.

    Versions may differ in much where their headline is the same. Like texts with other numbers are other
    news from one template, whatever the pages claim.
    """
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    headline = headlines_agree(one.title, other.title)
    if min(len(token_bytes(one.text)), len(token_bytes(other.text))) < LEAST_WORDS:
        return bool(headline)
    alike, contained = exact(shingle_hashes(one.text), shingle_hashes(other.text))
    if alike < ANOTHER_TEXT and contained < DERIVED:
        return False
    if different_news(numbers_in(one.text), numbers_in(other.text)):
        return False
    return alike >= SAME_ARTICLE or contained >= DERIVED or bool(headline)


def headlines_agree(one: str, other: str) -> bool | None:
    """Tell whether two headlines are one article's; None where they do not say.

    Those that share most words agree if their numbers do; those that share few are of two articles.
    """
    left, right = set(token_bytes(one)), set(token_bytes(other))
    smaller = min(len(left), len(right))
    if smaller < HEADLINE_WORDS:
        return None
    shared = len(left & right) / smaller
    if shared >= SAME_HEADLINE:
        return numbers_in(one) == numbers_in(other)
    return None if shared >= OTHER_HEADLINE else False
