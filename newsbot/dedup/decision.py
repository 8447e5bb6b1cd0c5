"""Decides how an article relates to the texts that resemble it. Uses no clock and no database.

J is the Jaccard similarity of two texts' three-word shingles, estimated from signatures. C is the
containment: the share of the shorter text's shingles that the longer text has too. The near texts of an
article are judged by these rules:

* **J ≥ .5**: the article is a *member* of the story of each such text. If it resembles two stories, they are
  merged. If the stored texts are available, J is exact and the threshold is .52. This value separates the
  same article from other articles best, on real articles of one day; estimates of .5 and more below it are
  noise.
* **J ≥ .9, same source**: a *revision*, the same article under another URL or an update of it. It is kept
  and marked with ``duplicate_of``. Checked against the texts if they are available.
* **C ≥ .62, J < .5**: *derived*, one text is cut from the other or built around it. The article lists all
  such texts (``derived_from``), but the stories are not merged: a daily digest resembles all its parts.
* **C ≥ .62, same source, same headline**: the longer text *continues* the other (a live blog, or a report
  that grows under new URLs). They are one story.
* **Number guard** (:mod:`newsbot.dedup.numbers`): texts whose numbers were replaced are different news from
  one template (weather, markets, results), however similar their words are. The nearest text of a story
  decides for the story: if the guard separates it, its copies are not peers either. If the guard separates
  similar texts from each other, the article joins the nearest one.

Lines that may be an agency's standard wording are not counted (:func:`without_formulas`).

A text without such neighbours begins a new story. Texts of fewer than 25 words are too short for signatures:
they match only identical texts, unless the text may be standard wording (:func:`is_formula`).

This module drops nothing; only identical texts of the same source are dropped (:mod:`newsbot.dedup.minhash`,
storage). The result for a pair does not depend on which text came first. The resulting stories therefore do
not depend on the order of arrival, with one exception: copies that lost their numbers and arrive before the
issues of their template.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from newsbot.dedup.index import LEAST, Near
from newsbot.dedup.minhash import MIN_SHINGLES, exact, shingle_hashes
from newsbot.dedup.numbers import SAME_ARTICLE, Numbers, different_news, numbers_in
from newsbot.items import Article
from newsbot.storage.stories import story_id
from newsbot.text.words import token_bytes

__all__ = ["Decision", "Neighbour", "Relation", "decide", "story_id"]

SAME_STORY = 0.5
"""Minimum estimated J of texts of one story."""
SAME_STORY_EXACT = 0.52
"""Minimum exact J of texts of one story, used if the texts are available."""
DERIVED = 0.62
"""Minimum C of a derived text."""
MAX_DERIVED = 20
"""Maximum number of articles in ``derived_from``."""
_BLIND = 0.12
"""Estimated J below which the estimated C is meaningless, so that the texts themselves are needed."""


class Relation(StrEnum):
    """How a text relates to its story."""

    NEW = "new"
    """It resembles no recent text and begins a story."""
    MEMBER = "member"
    """It reports the same as another article."""
    REVISION = "revision"
    """It is almost identical to another article of its source."""
    CONTINUES = "continues"
    """It extends the text of an article of its source with the same headline."""
    DERIVED = "derived"
    """It begins a story, but shares most of the shorter text with an article of another story."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A near text with the data needed to judge it."""

    near: Near
    story: str | None
    """The story of the stored article; None if it has no story or is not stored (yet)."""
    numbers: Numbers | None = None
    """The numbers in its text (:func:`numbers_in`); None if unknown."""
    exact: tuple[float, float] | None = None
    """J and C computed from the texts (:func:`newsbot.dedup.minhash.exact`); None if unknown."""
    continued: bool | None = None
    """True if the article continues it, False if it continues the article, None if neither."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The story of an article and its relations to other articles."""

    story: str
    """The story of the most similar peer that has one, until all peers' stories are merged; else its own."""
    relation: Relation
    duplicate_of: str | None = None
    """Canonical URL of the article that it nearly equals."""
    similarity: float = 0.0
    """J with the neighbour that decided; 0 for a new text."""
    peers: tuple[str, ...] = ()
    """Canonical URLs of the articles that belong to the same story."""
    derived_from: tuple[str, ...] = ()
    """Canonical URLs of the articles with C ≥ :data:`DERIVED` that are not similar enough to be peers by
    J, highest C first."""
    apart: bool = False
    """True if the peers' stories are not merged yet, as far as is known."""


def decide(url: str, source: str, numbers: Numbers, neighbours: Iterable[Neighbour]) -> Decision:
    """Decide to which story the article with the canonical ``url`` belongs.

    ``numbers`` are the :func:`numbers_in` its text. The order of ``neighbours`` does not matter. Among
    equally similar neighbours those of the same source go first. The page itself under another form of its
    URL (http, https) is ignored.
    """
    own = story_id(url)  # http and https give the same
    others = [one for one in neighbours if story_id(one.near.doc_id) != own]
    others.sort(key=lambda one: (_jaccard(one), one.near.source == source, one.near.doc_id), reverse=True)
    likely = _of_the_same_news(source, numbers, others)
    peers = _peers(likely)
    basis = _basis(likely)
    named = tuple(one.near.doc_id for one in basis)
    if not peers:
        similarity = _jaccard(basis[0]) if basis else 0.0
        return Decision(
            own, Relation.DERIVED if basis else Relation.NEW, None, similarity, derived_from=named
        )
    best = peers[0]
    story = next((peer.story for peer in peers if peer.story), own)
    twins = [one for one in peers if one.near.source == source and _jaccard(one) >= SAME_ARTICLE]
    nearest = twins[0] if twins else best
    return Decision(
        story,
        Relation.REVISION if twins else Relation.CONTINUES if best.continued else Relation.MEMBER,
        twins[0].near.doc_id if twins else None,
        _jaccard(nearest),
        tuple(sorted({one.near.doc_id for one in peers})),
        named,
        apart={one.story for one in peers} != {story},
    )


def _of_the_same_news(source: str, numbers: Numbers, others: list[Neighbour]) -> list[Neighbour]:
    """Filter neighbours (best first) with the number guard.

    A story is left out as a whole if the guard separates its nearest text. As soon as the guard separates
    any neighbour, neighbours whose numbers are unknown are left out too.
    """
    found: list[Neighbour] = []
    closed: set[str] = set()  # stories whose nearest text is different news
    met: set[str] = set()  # stories whose nearest text has passed
    guarded = False
    # The loop goes from the nearest text to the farthest, so the first text of each story decides.
    for one in others:
        if one.story in closed:
            continue
        if one.numbers is not None and different_news(
            numbers, one.numbers, _jaccard(one), one_source=one.near.source == source
        ):
            guarded = True
            if one.story is not None and one.story not in met:
                closed.add(one.story)
            continue
        if one.story is not None:
            met.add(one.story)
        found.append(one)
    return [one for one in found if one.numbers is not None] if guarded else found


def _peers(likely: list[Neighbour]) -> list[Neighbour]:
    """Return the neighbours of the article's story, best first. Among different news the nearest is kept."""
    found: list[Neighbour] = []
    for one in filter(_is_of_one_story, likely):
        # ``found`` has the nearer texts already, so of two different news the farther one is left out
        if not any(_are_different(one, other) for other in found):
            found.append(one)
    return found


def _are_different(one: Neighbour, other: Neighbour) -> bool:
    """Return True if two neighbours are different news. Neighbours of one story never are."""
    if one.numbers is None or other.numbers is None or (one.story and one.story == other.story):
        return False
    alike = min(_jaccard(one), _jaccard(other))
    return different_news(one.numbers, other.numbers, alike, one_source=one.near.source == other.near.source)


def _basis(likely: list[Neighbour]) -> list[Neighbour]:
    """Return the neighbours from which the article may be derived, highest containment first."""
    found = [one for one in likely if _contained(one) >= DERIVED and not _is_like(one)]
    found.sort(key=lambda one: (_contained(one), _jaccard(one), one.near.doc_id), reverse=True)
    return found[:MAX_DERIVED]


def _is_of_one_story(neighbour: Neighbour) -> bool:
    return neighbour.continued is not None or _is_like(neighbour)


def _is_like(neighbour: Neighbour) -> bool:
    return _jaccard(neighbour) >= (SAME_STORY if neighbour.exact is None else SAME_STORY_EXACT)


def _jaccard(neighbour: Neighbour) -> float:
    return neighbour.near.similarity if neighbour.exact is None else neighbour.exact[0]


def _contained(neighbour: Neighbour) -> float:
    if neighbour.exact is not None:
        return neighbour.exact[1]
    return neighbour.near.contained if neighbour.near.similarity >= _BLIND else 0.0


ANOTHER_TEXT = 0.3
"""J below which two texts cannot be versions of one article, unless one is cut from the other."""
LEAST_WORDS = 25
"""Texts with fewer words are compared by their headlines only."""
HEADLINE_WORDS = 4
"""Headlines with fewer words ("Weather", "Read more") are not compared."""
SAME_HEADLINE, OTHER_HEADLINE = 0.8, 0.4


def is_one_article(one: Article, other: Article) -> bool:
    """Return True if two texts belong to one article: identical, cut from each other, or versions of it.

    Versions with the same headline may differ widely. Similar texts with different numbers are different
    news from one template, whatever the pages claim.
    """
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    headline = headlines_agree(one.title, other.title)
    if min(len(token_bytes(one.text)), len(token_bytes(other.text))) < LEAST_WORDS:
        return bool(headline)
    # Different texts and different numbers are refused first. Only then may the headline confirm.
    alike, contained = exact(shingle_hashes(one.text), shingle_hashes(other.text))
    if alike < ANOTHER_TEXT and contained < DERIVED:
        return False
    if different_news(numbers_in(one.text), numbers_in(other.text), alike):
        return False
    return alike >= SAME_ARTICLE or contained >= DERIVED or bool(headline)


def headlines_agree(one: str, other: str) -> bool | None:
    """Return whether two headlines belong to one article; None if that cannot be decided.

    Headlines that share most words agree if their numbers are equal. Headlines that share few words belong
    to different articles.
    """
    left, right = set(token_bytes(one)), set(token_bytes(other))
    smaller = min(len(left), len(right))
    if smaller < HEADLINE_WORDS:
        return None
    shared = len(left & right) / smaller
    if shared >= SAME_HEADLINE:
        return numbers_in(one).written == numbers_in(other).written
    return None if shared >= OTHER_HEADLINE else False


TOLD = 0.25
"""Minimum share of a headline's words that occur in its text. On the first 24 words of real articles of one
day, 72 % of texts reach it with their own headline and 1 % with the headline of another article."""


def is_formula(one: Article, other: Article, text: str) -> bool:
    """Return True if a text shared by two articles may be standard wording ("Read more on our site").

    It is news if the headlines agree, or if it contains words of both headlines.
    """
    if headlines_agree(one.title, other.title):
        return False
    said = set(token_bytes(text))
    headlines = (set(token_bytes(article.title)) for article in (one, other))
    return not all(words and len(words & said) >= TOLD * len(words) for words in headlines)


def without_formulas(one: Article, other: Article) -> tuple[float, float] | None:
    """Return J and C of two texts without the lines that both have; None if these lines should count.

    Shared lines do not count if they may be standard wording (an agency's closing paragraph) and the
    remaining lines have nothing in common. None of the real pairs with J ≥ .52 or C ≥ .62 is affected,
    because copies are also edited within lines.
    """
    lines = [
        {b" ".join(token_bytes(line)): line for line in text.split("\n")} for text in (one.text, other.text)
    ]
    both = lines[0].keys() & lines[1].keys()
    rests = [
        shingle_hashes(" ".join(line for key, line in some.items() if key not in both)) for some in lines
    ]
    alike = exact(*rests)
    if min(map(len, rests)) < MIN_SHINGLES or alike[0] >= LEAST:
        return None
    return alike if is_formula(one, other, " ".join(lines[0][key] for key in both)) else None


def continues(one: Article, other: Article, likeness: tuple[float, float]) -> bool:
    """Return True if the longer of two articles of one source continues the other.

    ``likeness`` is (J, C) of their texts. A digest also contains the texts of other articles, but it has a
    headline of its own.
    """
    if one.source != other.source or likeness[1] < DERIVED:
        return False
    return headlines_agree(one.title, other.title) is True
