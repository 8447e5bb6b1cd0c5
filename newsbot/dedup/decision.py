"""Decides how an article relates to the texts that resemble it. Uses neither a clock nor a database.

Three terms have a fixed meaning in this package:

* A *near text* is a text that the index found for the article (:class:`newsbot.dedup.index.Near`). The index
  knows only signatures, so the similarity of a near text is an estimate.
* A *neighbour* is a near text together with what is known about it from the storage (:class:`Neighbour`).
  It has not been judged yet.
* A *peer* is a neighbour that was judged to belong to the same story as the article.

J is the Jaccard similarity of two texts' three-word shingles. It is estimated from signatures, or exact if
both texts are available. C is the containment: the share of the shorter text's shingles that are also in the
longer text. The *nearest* neighbour is the one with the highest J. Each neighbour is judged by these rules:

* **J ≥ .5**: the neighbour is a peer, and the article is a *member* of its story. If the article has peers in
  two stories, these stories are merged. The threshold for an exact J is .52. In a test with real articles of
  one day, this value separated copies of an article from other articles best. If the exact J is below .52, an
  estimate of .5 or more is ignored as an error of the estimate.
* **J ≥ .9, same source**: the article is a *revision*, which is the same article under another URL or an
  updated version of it. It is kept and marked with ``duplicate_of``. The exact J is used if it is available.
* **C ≥ .62, J < .5**: the article is *derived*. One of the two texts contains most of the other text. The
  article lists all such neighbours (``derived_from``), but they are not peers: a daily digest resembles all
  its parts, and their stories must stay separate.
* **C ≥ .62, same source, same headline**: the longer text *continues* the shorter one. Examples are a live
  blog, and a report that grows under new URLs. The neighbour is a peer.
* **Number guard** (:func:`different_news`): two texts are *different news* if they have different
  numbers in the same template (weather, markets, results), even if all their words are equal. If the article
  and a neighbour are different news, the neighbour is not a peer. If this neighbour is the nearest of its
  story, no other text of that story is a peer. If two possible peers are different news, only the nearer one
  is a peer.

Lines that both texts have do not count if they may be an agency's standard wording
(:func:`without_formulas`).

An article without peers begins a new story. Texts of fewer than 25 words are too short to be compared by
signatures. Only identical texts are near to an article of this length. An identical text is ignored if it may
be standard wording (:func:`is_formula`).

This module does not drop articles. The storage drops an article if its source already has an identical text.
The result for a pair of texts does not depend on which text came first. The stories therefore do not depend
on the order in which articles arrive. There is one exception: the result can be different if a copy without
numbers arrives before other texts of its template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from newsbot.dedup.index import LEAST, Near
from newsbot.dedup.minhash import MIN_SHINGLES, exact, shingle_hashes
from newsbot.items import Article
from newsbot.storage.stories import story_id
from newsbot.text.names import MONTHS
from newsbot.text.words import MAX_TEXT, token_bytes

SAME_ARTICLE = 0.9
"""Minimum Jaccard similarity of two texts that are almost identical."""

# 1,250.5 and 12:30 and 24.12.2024 are one number each
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# [^\W\d_] is a letter of any script: a word character, but neither a digit nor "_"
_LETTERS = re.compile(r"[^\W\d_]+")
# 24.12.2024, 4.1.25
_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d\d|\d{4})")
_MAX_NUMBERS = 1000
_AROUND = 40
"""Number of characters before and after a number that are searched for words."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a text. "5 December" is the number ``5/12``: the month's number is added."""

    written: frozenset[str]
    """All numbers, as they are written in the text."""
    dates: frozenset[str]
    """The numbers that are dates."""
    beside: Mapping[str, frozenset[str]]
    """Maps ``<word`` to the numbers after this word, and ``>word`` to the numbers before it."""


def numbers_in(text: str) -> Numbers:
    """Return the first 1,000 different numbers in ``text``."""
    written: set[str] = set()
    dates: set[str] = set()
    beside: dict[str, set[str]] = {}
    for match in _NUMBER.finditer(text[:MAX_TEXT]):
        number, start, end = match[0], match.start(), match.end()
        words = _LETTERS.findall(text[max(0, start - _AROUND) : start].lower())
        before = words[-1] if words else ""
        word = _LETTERS.search(text, end, end + _AROUND)
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

    Forecasts, market reports and results are written from templates: the words stay, the numbers change. A
    correction changes one number of many. An abridged copy loses numbers, and an update adds numbers.
    Therefore only *replaced* numbers count. Numbers are replaced if each text has numbers that the other text
    does not have.

    Two texts are different news if they have at least as many replaced numbers as shared numbers. ``alike``
    is the Jaccard similarity of the texts. A single replaced number in almost identical texts is a
    correction, unless it is a date. If the texts are from different sources (``one_source`` False), a single
    replaced number is never enough.
    """
    if one_source:
        shared = one.written & other.written
        lost, gained = one.written - shared, other.written - shared
    else:
        # Similar texts of different sources are usually edited copies. They are rarely made from one
        # template. So their numbers are compared only next to words that both texts have.
        shared, lost, gained = _by_place(one, other)
    # the result is 0 for an abridged text, which only loses numbers, and for an extended text
    replaced = min(len(lost), len(gained))
    # max(): with no shared numbers, at least one number must still be replaced.
    if replaced < max(1, len(shared)):
        return False
    if replaced > 1:
        return True
    is_day = not (one.dates | other.dates).isdisjoint(lost | gained)
    return one_source and (is_day or alike < SAME_ARTICLE)


def _by_place(one: Numbers, other: Numbers) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Compare the numbers that are next to a word, for each word that is next to a number in both texts.

    Return three sets: the numbers in both texts, the numbers only in ``one``, and the numbers only in
    ``other``.
    """
    shared: set[str] = set()
    lost: set[str] = set()
    gained: set[str] = set()
    for word in one.beside.keys() & other.beside.keys():
        mine, theirs = one.beside[word], other.beside[word]
        both = mine & theirs
        shared |= both
        # beside this word, each text has a number that the other text does not have there
        if len(both) < min(len(mine), len(theirs)):
            lost |= mine - both
            gained |= theirs - both
    # If both texts have a number beside one word, the number is neither lost nor gained beside another word.
    return frozenset(shared), frozenset(lost - shared), frozenset(gained - shared)


SAME_STORY = 0.5
"""Minimum estimated J of two texts of one story. It applies if a text is not available."""
SAME_STORY_EXACT = 0.52
"""Minimum exact J of two texts of one story. It applies if both texts are available."""
DERIVED = 0.62
"""Minimum C of two texts if one is derived from the other."""
MAX_DERIVED = 20
"""Maximum number of articles in ``derived_from``."""
_BLIND = 0.12
"""If the estimated J is lower than this, C cannot be estimated from it. Then only an exact C is used."""


class Relation(StrEnum):
    """How an article relates to its story and to other articles."""

    NEW = "new"
    """The article resembles no recent text and begins a new story."""
    MEMBER = "member"
    """The article belongs to a story that has other articles."""
    REVISION = "revision"
    """The article is almost identical to another article of its source."""
    CONTINUES = "continues"
    """The article has the same headline as another article of its source, and one text extends the other."""
    DERIVED = "derived"
    """The article begins a new story. Its text contains most of a text of another story, or the reverse."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A near text of an article, with the data that are needed to judge it."""

    near: Near
    story: str | None
    """The story of the near text. None if the near text is not stored (yet) or has no story."""
    numbers: Numbers | None = None
    """The numbers in the near text (:func:`numbers_in`). None if its text is not available."""
    exact: tuple[float, float] | None = None
    """J and C, computed from both texts (:func:`newsbot.dedup.minhash.exact`). None if a text is not
    available."""
    continued: bool | None = None
    """True if the article continues the near text, False if the near text continues the article, otherwise
    None."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The story of an article and its relations to other articles."""

    story: str
    """Id of the story. It is the story of the nearest peer whose story is known. Without such a peer, it is
    the new story that the article begins. The id is provisional until the stories of all peers are merged."""
    relation: Relation
    duplicate_of: str | None = None
    """Canonical URL of the nearest article that this article is a revision of; None if it is not a
    revision."""
    similarity: float = 0.0
    """J with the neighbour that decided the relation; 0 if the relation is :attr:`Relation.NEW`."""
    peers: tuple[str, ...] = ()
    """Canonical URLs of the peers, sorted."""
    derived_from: tuple[str, ...] = ()
    """Canonical URLs of the neighbours with C ≥ :data:`DERIVED` whose J is too low for a peer, highest C
    first."""


def decide(url: str, source: str, numbers: Numbers, neighbours: Iterable[Neighbour]) -> Decision:
    """Decide which story the article with the canonical ``url`` belongs to.

    ``numbers`` are the numbers in the text of the article (:func:`numbers_in`). The order of ``neighbours``
    does not matter. Among neighbours with equal J, neighbours from the article's ``source`` are preferred. A
    neighbour that is the article itself (the same URL, with http or https) is ignored.
    """
    own = story_id(url)  # the id is the same for http and https
    others = [one for one in neighbours if story_id(one.near.doc_id) != own]
    # The id comes last in the key, so that equal neighbours have the same order in every process.
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
    )


def _of_the_same_news(source: str, numbers: Numbers, others: list[Neighbour]) -> list[Neighbour]:
    """Return the neighbours that the number guard accepts as the same news as the article.

    ``others`` are the neighbours, nearest first. If the nearest neighbour of a story is different news, no
    neighbour of that story is returned. If any neighbour is different news, neighbours whose numbers are
    unknown are not returned either.
    """
    found: list[Neighbour] = []
    closed: set[str] = set()  # stories whose nearest neighbour is different news
    met: set[str] = set()  # stories whose nearest neighbour was accepted
    guarded = False
    # The nearest neighbours come first, so the first neighbour of each story decides for the story.
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
    # The text comes from a template. A neighbour whose numbers are unknown may be made from the same
    # template.
    return [one for one in found if one.numbers is not None] if guarded else found


def _peers(likely: list[Neighbour]) -> list[Neighbour]:
    """Return the peers among the neighbours ``likely``. Both are sorted, nearest first.

    If two possible peers are different news, only the nearer one is returned.
    """
    found: list[Neighbour] = []
    for one in filter(_is_of_one_story, likely):
        # all neighbours in ``found`` are nearer than this one
        if not any(_are_different(one, other) for other in found):
            found.append(one)
    return found


def _are_different(one: Neighbour, other: Neighbour) -> bool:
    """Return True if two neighbours are different news. Neighbours of the same story are never different
    news."""
    if one.numbers is None or other.numbers is None or (one.story and one.story == other.story):
        return False
    alike = min(_jaccard(one), _jaccard(other))
    return different_news(one.numbers, other.numbers, alike, one_source=one.near.source == other.near.source)


def _basis(likely: list[Neighbour]) -> list[Neighbour]:
    """Return the neighbours from which the article may be derived, or which may be derived from it.

    The neighbour with the highest containment comes first.
    """
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
"""Minimum J of two versions of one article. It does not apply if one text is an excerpt of the other text."""
LEAST_WORDS = 25
"""Minimum number of words of a text that is compared. For shorter texts, only the headlines are compared."""
HEADLINE_WORDS = 4
"""Minimum number of different words of a headline that is compared.

"Weather" or "Read more" does not identify an article.
"""
SAME_HEADLINE, OTHER_HEADLINE = 0.8, 0.4
"""Two limits for the share of the shorter headline's words that both headlines have.

At or above the first limit, two headlines may be the same. Below the second limit, they are different.
"""


def is_one_article(one: Article, other: Article) -> bool:
    """Return True if two texts are versions of one article.

    They are versions of one article if they are identical or almost identical, if one is an excerpt of the
    other, or if they have the same headline and some text in common. Similar texts with different numbers are
    different news from one template, even if one page names the other as its canonical URL.
    """
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    headline = headlines_agree(one.title, other.title)
    if min(len(token_bytes(one.text)), len(token_bytes(other.text))) < LEAST_WORDS:
        return bool(headline)
    # Equal headlines count only if neither the texts nor the numbers show that the articles are different.
    alike, contained = exact(shingle_hashes(one.text), shingle_hashes(other.text))
    if alike < ANOTHER_TEXT and contained < DERIVED:
        return False
    if different_news(numbers_in(one.text), numbers_in(other.text), alike):
        return False
    return alike >= SAME_ARTICLE or contained >= DERIVED or bool(headline)


def headlines_agree(one: str, other: str) -> bool | None:
    """Return True if two headlines belong to one article, False if they do not, None if this is unclear.

    Headlines that share most words belong to one article if their numbers are equal. Headlines that share few
    words belong to different articles.
    """
    left, right = set(token_bytes(one)), set(token_bytes(other))
    smaller = min(len(left), len(right))
    if smaller < HEADLINE_WORDS:
        return None
    shared = len(left & right) / smaller
    if shared >= SAME_HEADLINE:
        # "Weather for 5 May" and "Weather for 6 May" are two articles.
        return numbers_in(one).written == numbers_in(other).written
    return None if shared >= OTHER_HEADLINE else False


TOLD = 0.25
"""Minimum share of a headline's words that a text must contain to be about the headline.

The share was measured with the first 24 words of real articles of one day. For their own headlines, 72 % of
these texts reach it. For the headlines of other articles, 1 % reach it.
"""


def is_formula(one: Article, other: Article, text: str) -> bool:
    """Return True if ``text``, which two articles share, may be standard wording ("Read more on our site").

    The text is news, and not standard wording, if the headlines of both articles agree. It is also news if it
    contains enough words of both headlines (:data:`TOLD`).
    """
    if headlines_agree(one.title, other.title):
        return False
    said = set(token_bytes(text))
    headlines = (set(token_bytes(article.title)) for article in (one, other))
    return not all(words and len(words & said) >= TOLD * len(words) for words in headlines)


def without_formulas(one: Article, other: Article) -> tuple[float, float] | None:
    """Return J and C of two texts, computed without the lines that both texts have.

    Return None if the shared lines must count. Shared lines do not count if they may be standard wording (an
    agency's closing paragraph) and the remaining lines have almost nothing in common. The result did not
    change for any real pair with J ≥ .52 or C ≥ .62: copies are also edited within lines, so their remaining
    lines are similar too.
    """
    lines = [
        {b" ".join(token_bytes(line)): line for line in text.split("\n")} for text in (one.text, other.text)
    ]
    # the keys are the words of lines, so case and punctuation do not count
    both = lines[0].keys() & lines[1].keys()
    rests = [
        shingle_hashes(" ".join(line for key, line in some.items() if key not in both)) for some in lines
    ]
    alike = exact(*rests)
    # Too little text remains to compare, or the remaining texts are similar too, as in an edited copy.
    if min(map(len, rests)) < MIN_SHINGLES or alike[0] >= LEAST:
        return None
    return alike if is_formula(one, other, " ".join(lines[0][key] for key in both)) else None


def continues(one: Article, other: Article, likeness: tuple[float, float]) -> bool:
    """Return True if the longer of two articles of one source continues the shorter article.

    ``likeness`` is (J, C) of their texts. A digest contains the texts of other articles too, but it does not
    continue them, because its headline is different.
    """
    if one.source != other.source or likeness[1] < DERIVED:
        return False
    return headlines_agree(one.title, other.title) is True
