"""Decides how an article relates to the texts that resemble it. Uses neither a clock nor a database.

Three terms have a fixed meaning in this package:

* A *near text* is a text that the index found for the article (:class:`newsbot.dedup.index.Near`). The index
  knows only signatures, so the similarity of a near text is an estimate.
* A *neighbour* is a near text together with what is known about it from the storage (:class:`Neighbour`).
  It has not been judged yet.
* A *peer* is a neighbour that was judged to belong to the same story as the article.

J is the Jaccard similarity of two texts' three-word shingles. It is estimated from signatures, or exact if
both texts are available. C is the share of the shorter text's words that are in passages (runs of five words)
which both texts have. The *nearest* neighbour is the one with the highest J. Each neighbour is judged by
these rules:

* **J ≥ .5**: the neighbour is a peer, and the article is a *member* of its story. If the article has peers in
  two stories, these stories are merged. The threshold for an exact J is .52. In a test with real articles of
  one day, this value separated copies of an article from other articles best. If the exact J is below .52, an
  estimate of .5 or more is ignored as an error of the estimate.
* **J ≥ .9, same source**: the article is a *revision*, which is the same article under another URL or an
  updated version of it. It is kept and marked with ``duplicate_of``. The exact J is used if it is available.
* **C ≥ .6, not a peer**: the article is *derived*. One of the two texts contains most of the other text. The
  article lists all such neighbours (``derived_from``), but their stories stay separate: a daily digest
  resembles all its parts.
* **C ≥ .6, same source, same headline**: the longer text *continues* the shorter one. Examples are a live
  blog, and a report that grows under new URLs. The neighbour is a peer.
* **Replaced words** (:class:`newsbot.dedup.comparison.Change`): fillings of one template (weather, markets,
  results) are *different news*, however similar they are. Two issues of a series (a yearly list) are not
  peers, but one is derived from the other. The same holds if only one name or word of the headline was
  replaced, because this may be a correction. If the nearest neighbour of a story is different news, no other
  text of that story is a peer. If two possible peers are different news, only the nearer one is a peer.
* **Templates**: if texts of the article's source show that the common part is a template, then each replaced
  name or number means different news. Texts that were joined before are parted (:attr:`Decision.mixed`).

Sentences that both texts have do not count if they may be an agency's standard wording
(:func:`without_formulas`).

An article without peers begins a new story. Texts of fewer than 25 words are too short to be compared by
signatures. Only identical texts are near to an article of this length. An identical text is ignored if it may
be standard wording (:func:`is_formula`).

This module does not drop articles. The storage drops an article if its source already has an identical text.
The result for a pair of texts does not depend on which text came first. The stories therefore do not depend
on the order in which articles arrive. There is one exception: the result can be different if a copy without
numbers and names arrives before other texts of its template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from newsbot.dedup.comparison import COVERED, SAME_STORY_EXACT, Change, Likeness, Text, are_forms, compare
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import LEAST_SHINGLES, containment, jaccard, shingle_hashes
from newsbot.items import Article
from newsbot.pages.text.words import token_bytes
from newsbot.storage.stories import story_id

SAME_ARTICLE = 0.9
"""Minimum Jaccard similarity of two texts that are almost identical."""
SAME_STORY = 0.5
"""Minimum estimated J of two texts of one story. It applies if a text is not available."""
MAX_DERIVED = 20
"""Maximum number of articles in ``derived_from``."""
_FILLINGS = 4
"""Maximum number of neighbours that are compared with each other to recognise a template."""


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
    likeness: Likeness | None = None
    """The comparison with the article. None if the text is not available."""
    text: Text | None = None
    """The text, for comparisons with other neighbours."""
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
    """Canonical URLs of the neighbours with C ≥ :data:`COVERED` that are not peers, highest C first."""
    mixed: tuple[str, ...] = ()
    """The stories in which fillings of a template were joined before the template was known."""


def decide(url: str, site: str, neighbours: Iterable[Neighbour]) -> Decision:
    """Decide which story the article with the canonical ``url`` belongs to.

    The order of ``neighbours`` does not matter. Among neighbours with equal J, neighbours from the article's
    ``site`` are preferred. A neighbour that is the article itself (the same URL, with http or https) is
    ignored.
    """
    own = story_id(url)  # the id is the same for http and https
    others = [one for one in neighbours if story_id(one.near.doc_id) != own]
    # The id comes last in the key, so that equal neighbours have the same order in every process.
    others.sort(key=lambda one: (_jaccard(one), one.near.source == site, one.near.doc_id), reverse=True)
    template = _is_template([one for one in others if one.near.source == site])
    likely = _of_the_same_news(site if template else None, others)
    peers = _peers(likely)
    basis = [
        one
        for one in likely
        if _contained(one) >= COVERED and (_change(one) is Change.ISSUE or not _is_like(one))
    ]
    basis.sort(key=lambda one: (_contained(one), _jaccard(one), one.near.doc_id), reverse=True)
    named = tuple(one.near.doc_id for one in basis[:MAX_DERIVED])
    mixed = _mixed([one for one in others if one.near.source == site], peers) if template else ()
    if not peers:
        similarity = _jaccard(basis[0]) if basis else 0.0
        relation = Relation.DERIVED if basis else Relation.NEW
        return Decision(own, relation, None, similarity, derived_from=named, mixed=mixed)
    best = peers[0]
    story = next((peer.story for peer in peers if peer.story), own)
    twins = [one for one in peers if one.near.source == site and _jaccard(one) >= SAME_ARTICLE]
    nearest = twins[0] if twins else best
    return Decision(
        story,
        Relation.REVISION if twins else Relation.CONTINUES if best.continued else Relation.MEMBER,
        twins[0].near.doc_id if twins else None,
        _jaccard(nearest),
        tuple(sorted({one.near.doc_id for one in peers})),
        named,
        mixed,
    )


def _is_template(own: list[Neighbour]) -> bool:
    """Return True if texts of the article's site show that what they share with it is a template.

    The same places have three different fillings, or one text has another subject.
    """
    named = [one for one in own if _change(one) is Change.NAMES]
    return any(_change(one) is Change.FILLING for one in own) or any(
        _between(one, other) is Change.NAMES for one, other in combinations(named[:_FILLINGS], 2)
    )


def _mixed(own: list[Neighbour], peers: list[Neighbour]) -> tuple[str, ...]:
    """Return the stories in which two fillings of a template are joined.

    ``own`` are the neighbours from the source of the template. A peer has the same filling as the article.
    """
    pairs = ((one, other) for one, other in combinations(own, 2) if _are_joined(one, other))
    found = {one.story for one, other in pairs if _between(one, other) is not Change.NONE}
    fillings = {one.story for one in own if _change(one) is Change.FILLING}
    return tuple(sorted(story for story in found | (fillings & {one.story for one in peers}) if story))


def _of_the_same_news(template_of: str | None, others: list[Neighbour]) -> list[Neighbour]:
    """Return the neighbours that are not different news.

    ``others`` are the neighbours, nearest first. If the nearest neighbour of a story is different news, no
    neighbour of that story is returned. If any neighbour is different news, neighbours whose texts are
    unknown are not returned either. ``template_of`` is the source whose template is known.
    """
    found: list[Neighbour] = []
    closed: set[str] = set()  # stories whose nearest neighbour is different news
    met: set[str] = set()  # stories whose nearest neighbour was accepted
    guarded = False
    # The nearest neighbours come first, so the first neighbour of each story decides for the story.
    for one in others:
        if one.story in closed:
            continue
        replaced = one.near.source == template_of and _change(one) in (Change.FIGURES, Change.NAMES)
        if replaced or _change(one) is Change.FILLING:
            guarded = True
            if one.story is not None and one.story not in met:
                closed.add(one.story)
            continue
        if one.story is not None:
            met.add(one.story)
        found.append(one)
    # The text comes from a template. A neighbour whose text is unknown may be made from the same template.
    return [one for one in found if one.likeness is not None] if guarded else found


def _peers(likely: list[Neighbour]) -> list[Neighbour]:
    """Return the peers among the neighbours ``likely``. Both are sorted, nearest first.

    If two possible peers are different news, only the nearer one is returned.
    """
    found: list[Neighbour] = []
    issues: set[str | None] = set()  # stories whose nearest neighbour is another issue of a series
    for one in likely:
        if _change(one) is Change.ISSUE:
            issues.update({one.story} - {None, *(other.story for other in found)})
        elif one.story in issues or not (_is_like(one) or one.continued is not None):
            continue
        # all neighbours in ``found`` are nearer than this one
        elif all(_between(one, other) < Change.ISSUE for other in found if not _are_joined(one, other)):
            found.append(one)
    return found


def _are_joined(one: Neighbour, other: Neighbour) -> bool:
    return one.story is not None and one.story == other.story


def _between(one: Neighbour, other: Neighbour) -> Change:
    """Return the change between two neighbours, NONE if a text is unknown."""
    if one.text is None or other.text is None:
        return Change.NONE
    return compare(one.text, other.text).change


def _change(neighbour: Neighbour) -> Change:
    return Change.NONE if neighbour.likeness is None else neighbour.likeness.change


def _is_like(neighbour: Neighbour) -> bool:
    return _jaccard(neighbour) >= (SAME_STORY if neighbour.likeness is None else SAME_STORY_EXACT)


def _jaccard(neighbour: Neighbour) -> float:
    return neighbour.near.similarity if neighbour.likeness is None else neighbour.likeness.alike


def _contained(neighbour: Neighbour) -> float:
    return 0.0 if neighbour.likeness is None else neighbour.likeness.covered


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
    other, or if they have the same headline and some text in common. Fillings of one template are different
    news, even if one page names the other as its canonical URL.
    """
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    headline = headlines_agree(one.title, other.title)
    if min(len(token_bytes(one.text)), len(token_bytes(other.text))) < LEAST_WORDS:
        return bool(headline)
    # Equal headlines count only if the texts do not show that the articles are different.
    likeness = compare(Text(one), Text(other))
    if likeness.change >= Change.ISSUE or (likeness.alike < ANOTHER_TEXT and likeness.covered < COVERED):
        return False
    return likeness.alike >= SAME_ARTICLE or likeness.covered >= COVERED or bool(headline)


def headlines_agree(one: str, other: str) -> bool | None:
    """Return True if two headlines belong to one article, False if they do not, None if this is unclear.

    Two headlines belong to one article if one of them has all words of the other, in some form. Headlines
    that share few words belong to different articles. If they share most words, but each has a word that the
    other does not have, this word is the subject ("Weather in York", "Weather in Leeds").
    """
    left, right = set(token_bytes(one)), set(token_bytes(other))
    smaller = min(len(left), len(right))
    if smaller < HEADLINE_WORDS:
        return None
    shared = len(left & right) / smaller
    lost, gained = (
        # "a" and "it" are not subjects
        {w for w in some if (len(w) > 2 or w.isdigit()) and not any(are_forms(w, form) for form in others)}
        for some, others in ((left - right, right - left), (right - left, left - right))
    )
    if not (lost and gained):
        return True
    return None if OTHER_HEADLINE <= shared < SAME_HEADLINE else False


TOLD = 0.25
"""Minimum share of a headline's words that a text must contain to be about the headline.

The share was measured with the first 24 words of real articles of one day. For their own headlines, 72 % of
these texts reach it. For the headlines of other articles, 1 % reach it.
"""


UNLIKE = 0.1
"""Maximum share of the shingles that two texts have in common if they have almost nothing in common."""


def is_formula(one: Article, other: Article, text: str) -> bool:
    """Return True if ``text``, which two articles share, may be standard wording ("Read more on our site").

    The text is news, and not standard wording, if the headlines of both articles agree. It is also news if it
    contains enough words of both headlines (:data:`TOLD`, and two words of a headline that has two).
    """
    if headlines_agree(one.title, other.title):
        return False
    said = set(token_bytes(text))
    headlines = (set(token_bytes(article.title)) for article in (one, other))
    return not all(
        words and len(words & said) >= max(TOLD * len(words), min(2, len(words))) for words in headlines
    )


_END = re.compile(r"\n|[.!?…।؟]\s+|[。！？]")
"""The end of a sentence."""


def without_formulas(one: Article, other: Article, likeness: Likeness) -> float | None:
    """Return J of two texts, computed without the sentences that both texts have.

    Return None if the shared sentences must count. They do not count if they may be standard wording (an
    agency's closing paragraph, an invitation to subscribe) and the remaining texts have almost nothing in
    common. The result did not change for any of 2,011 real pairs with J ≥ .52 or C ≥ .6: copies are also
    edited within sentences, so their remaining sentences are similar too.
    """
    if likeness.alike >= SAME_ARTICLE:
        return None
    sentences = [dict.fromkeys(_END.split(article.text)) for article in (one, other)]
    both = sentences[0].keys() & sentences[1].keys()
    shared = " ".join(both)
    # The remaining texts have more in common. This takes less time than the exact computation below.
    if likeness.covered > len(shared) / min(len(one.text), len(other.text)) + UNLIKE:
        return None
    rests = [shingle_hashes(" ".join(text for text in some if text not in both)) for some in sentences]
    # Too little text remains to compare, or the remaining texts are similar too, as in an edited copy.
    if min(map(len, rests)) < LEAST_SHINGLES or containment(*rests) >= UNLIKE:
        return None
    return jaccard(*rests) if is_formula(one, other, shared) else None


def continues(one: Article, other: Article, likeness: Likeness) -> bool:
    """Return True if the longer of two articles of one source continues the shorter article.

    A digest contains the texts of other articles too, but it does not continue them, because its headline is
    different.
    """
    if one.source != other.source or likeness.covered < COVERED:
        return False
    return headlines_agree(one.title, other.title) is True
