"""Merges the stories of similar texts. The order in which workers process the texts does not matter.

The terms near text, neighbour and peer are explained in :mod:`newsbot.dedup.decision`. In short, a peer is a
text that belongs to the same story as the article.

A text is inserted into the index before it is stored. If two workers process similar texts at the same time,
at least one worker finds the text of the other worker in the index as a peer, even if that text is not stored
yet. The transaction that stores an article also merges its story with the stories of its peers
(:meth:`newsbot.storage.articles.Stories.join`). For a peer that is not stored yet, the story that it would
begin is redirected to the merged story. When the peer is stored later, the worker that stores it looks up the
current story. Each worker writes first and reads afterwards, so at least one of two workers sees what the
other wrote.

A worker may be killed at any time, and its page is then fetched again. If the article was already stored, the
second visit finds the page unchanged and does not search for peers. It only looks up the current story.

The index can be rebuilt from the stored texts of the last weeks (:func:`rebuild`). A rebuild is needed if
Redis has lost its data, or if parameters of signatures have changed. Texts that are already in the index are
replaced, so a rebuild may run during a crawl and may be repeated.

Similar articles of one site never join the stories of other sites (:func:`without_bridges`). Otherwise, a
site could join any two stories with a few texts, each of which is a little more similar to the second story.
:func:`regroup` splits a story into parts by the same rule.

While an index is incomplete, a copy of a stored text begins a new story and does not join the story of that
text. :func:`reunite` merges these stories later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

from newsbot.dedup.decision import (
    SAME_STORY_EXACT,
    Change,
    Decision,
    Likeness,
    Neighbour,
    Relation,
    Text,
    compare,
    continues,
    decide,
    is_formula,
    without_formulas,
)
from newsbot.dedup.index import MIN_SHINGLES, Near, NearIndex, signature
from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import is_settled, story_id
from newsbot.storage.base import Storage


def settle_again(storage: Storage, kept: Article) -> None:
    """Merge the stories of a stored article again, because its worker may have been killed before it merged
    them."""
    stories = (kept.story or "", story_id(kept.canonical_url))
    if not kept.story or not is_settled(*stories, storage.stories.current(stories)):
        join(storage, [kept.canonical_url])


def settle(storage: Storage, url: str, peers: Sequence[str], kept_as: str | None = None) -> str:
    """Merge the story of an article that was just stored with the stories of its peers. Return the id of the
    story.

    ``peers`` are :attr:`newsbot.dedup.decision.Decision.peers`. If the article was not stored because another
    article has the same text, ``kept_as`` is the URL of the stored article. The function is idempotent.
    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    urls = [url, *([kept_as] if kept_as else []), *peers]
    story = join(storage, urls)
    kept = storage.articles.get(url) if peers or kept_as else None
    if kept is not None and kept.duplicate_of is not None and kept.story is not None:
        twin = storage.articles.get(kept.duplicate_of)
        if twin is not None and story_id(twin.canonical_url) == story_id(kept.canonical_url):
            # ``duplicate_of`` is the article's own URL with http instead of https, or the reverse: remove it
            storage.stories.assign(kept.canonical_url, kept.story, None)
    return story


def join(storage: Storage, canonical_urls: Sequence[str]) -> str:
    """Merge the stories of articles into one story. Return the id of this story.

    Other workers may store some of these articles at the same time. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    joined = storage.stories.join(canonical_urls)
    # a worker may have stored a missing article during the first call, so it is tried once more
    if joined.missing:
        joined = storage.stories.join(canonical_urls)
    return joined.story


MAX_NEIGHBOURS = 20
"""Maximum number of near texts that are read from the storage. Further near texts of other sources are judged
by their signatures alone. Further near texts of the same source cannot be judged without their numbers and
are ignored. Each of these texts was compared with its own nearest texts when it was inserted."""
OUTDATED = 0.2
"""The estimated similarity of a stored near text may exceed the exact similarity by at most this amount.

It is more than four standard errors. If the difference is larger, the signature belongs to a new version that
is not stored yet, and the near text is treated as not stored.
"""


def place(article: Article, near: Iterable[Near], kept: Mapping[str, Article]) -> Decision:
    """Decide which story an article belongs to.

    ``near`` are its near texts. ``kept`` has the near texts that were read from the storage, by their id in
    the index. For a short article, texts in ``kept`` that are standard wording do not count.
    """
    text = Text(article) if kept else None
    if text is not None and len(text.shingles) < MIN_SHINGLES:
        kept = {key: short for key, short in kept.items() if not is_formula(article, short, short.text)}
        near = [one for one in near if one.doc_id in kept]
    found = [_neighbour(one, article, kept.get(one.doc_id), text) for one in near]
    # Without its text, a near text of the same site may come from the same template, so it is ignored.
    neighbours = [one for one in found if one.likeness is not None or one.near.source != article.source]
    return decide(article.canonical_url, article.source, neighbours)


def _neighbour(near: Near, article: Article, kept: Article | None, text: Text | None) -> Neighbour:
    """Return the near text as a neighbour of ``article``, with data from its stored form ``kept``.

    ``text`` is the text of ``article``.
    """
    if kept is None or text is None:
        return Neighbour(near=near, story=None)
    # The URL under which the text is stored may differ from its id in the index. It may even be the URL of
    # ``article``.
    stored = replace(near, doc_id=kept.canonical_url)
    other = Text(kept)
    likeness = compare(text, other)
    if near.similarity - likeness.alike > OUTDATED:  # the index has a newer version than the storage
        return Neighbour(stored, kept.story)
    # The likeness may come from a shared closing paragraph alone; see without_formulas.
    rest = without_formulas(article, kept, likeness) if likeness.is_link else None
    if rest is not None:
        likeness = Likeness(rest, rest)
    longer = len(text.shingles) > len(other.shingles) if continues(article, kept, likeness) else None
    return Neighbour(stored, kept.story, likeness, other, longer)


Wanted = Callable[[Article], bool]
Met = Callable[[Article, list[Near]], object]


def rebuild(
    storage: Storage,
    index: NearIndex,
    now: float,
    report: Callable[[int], None],
    wanted: Wanted = lambda _article: True,
    *,
    met: Met = lambda _article, _near: None,
) -> int:
    """Insert the stored texts into the index, oldest first. Return the number of inserted texts.

    Only texts fetched in the last ``index.keep`` seconds before ``now`` are inserted, because the index
    forgets older texts. ``wanted`` selects articles. After each text, ``report`` is called with the number of
    texts inserted so far. ``met`` is called with each article and its near texts. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    number = 0
    for article in storage.articles.iter():
        moment = None if article.fetched_at is None else article.fetched_at.timestamp()
        if moment is None or moment < now - index.keep or not wanted(article):
            continue
        text = signature(article.text)
        met(article, index.check_and_insert(article.canonical_url, article.source, text, moment))
        number += 1
        report(number)
    return number


def reunite(storage: Storage, article: Article, near: list[Near]) -> bool:
    """Merge a stored article's story with the stories of its peers. Return True if stories were merged.

    ``near`` are its near texts. Peers are the near texts that belong to its story
    (:mod:`newsbot.dedup.decision`), judged as if the article were new. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    kept = {one.doc_id: text for one in near[:MAX_NEIGHBOURS] if (text := storage.articles.get(one.doc_id))}
    # usually all near texts already belong to the article's story, and no texts need to be compared
    if {one.story for one in kept.values()} <= {article.story}:
        return False
    decision = place(article, [one for one in near if one.doc_id in kept], kept)
    peers = without_bridges(storage, article, decision, kept).peers
    stories = {one.story for one in kept.values() if one.canonical_url in peers}
    if stories <= {article.story}:
        return False
    join(storage, [article.canonical_url, *peers])
    return True


def reunite_around(storage: Storage, index: NearIndex, article: Article, now: float) -> None:
    """Decide again which stories a stored article and its neighbours join.

    A text is in the index before it is stored, for a long time if its worker was killed. While it is not
    stored, :func:`without_bridges` cannot read it and may exclude articles that it connects. So this function
    is called when such a text is stored, and when an excluded article is stored: one of the two calls sees
    both texts. Raises subclasses of :class:`newsbot.errors.DataError`.
    """

    def near(one: Article) -> list[Near]:
        at = now if one.fetched_at is None else one.fetched_at.timestamp()
        return index.check_and_insert(one.canonical_url, one.source, signature(one.text), at)

    around = near(article)
    reunite(storage, article, around)
    for other in around[:MAX_NEIGHBOURS]:
        if stored := storage.articles.get(other.doc_id):
            reunite(storage, stored, near(stored))


# --- stories of several sites

MAX_MEMBERS = 50
"""Maximum number of a story's articles that are read to find its sites."""
MAX_COMPARED = 20
"""Maximum number of these articles whose texts are compared."""
MAX_REGROUPED = 200
"""Maximum number of a story's articles that :func:`regroup` compares. The others stay with the first part."""


@dataclass(slots=True)
class _Tie:
    """How an article is tied to one story."""

    peers: list[Article] = field(default_factory=list)
    own: bool = False
    """True if all these peers are of the article's own site."""
    direct: bool = False
    """True if the peers are of several sites, or similar to the rest of the story."""
    others: bool = False
    """True if the story has articles of other sites."""


def without_bridges(
    storage: Storage, article: Article, decision: Decision, kept: Mapping[str, Article]
) -> Decision:
    """Return the decision without the peers whose stories would be joined by articles of one site alone.

    ``kept`` has the stored near texts. Two cases are excluded:

    * The article is similar to an article of its own site in one story, and to an article of another site in
      another story. An earlier version of the article counts as an article of its own site.
    * All peers in a story are from one other site, and neither they nor the article are similar to an article
      of a third site in this story.

    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    if not decision.peers:
        return decision
    ties: dict[str, _Tie] = {}
    stored = {one.canonical_url: one for one in kept.values()}
    before = storage.articles.get(article.canonical_url)
    home = before.story if before is not None and before.source == article.source else None
    for peer in filter(None, (*map(stored.get, decision.peers), before if home else None)):
        if peer.story:
            ties.setdefault(peer.story, _Tie()).peers.append(peer)
    for story, tie in ties.items():
        _judge_tie(storage, article, story, tie)
    out = _excluded(ties, home)
    if not out:
        return decision
    peers = tuple(url for url in decision.peers if url not in stored or stored[url].story not in out)
    left = [story for story in ties if story not in out]
    story = decision.story if decision.story not in out else home or next(iter(left), "")
    relation = decision.relation if peers else Relation.DERIVED if decision.derived_from else Relation.NEW
    return replace(decision, peers=peers, relation=relation, story=story or story_id(article.canonical_url))


def _judge_tie(storage: Storage, article: Article, story: str, tie: _Tie) -> None:
    sites = {one.source for one in tie.peers} - {article.source}
    tie.own = not sites
    tie.direct = tie.others = len(sites) > 1
    if tie.direct:
        return
    members = islice(storage.articles.iter(ArticleFilter(story=story)), MAX_MEMBERS)
    others = [one for one in members if one.source != article.source]
    tie.others = bool(others)
    thirds = [one for one in others if one.source not in sites][:MAX_COMPARED]
    near = [article, *(one for one in tie.peers if one.source in sites)]
    alike = any(_is_alike(one, third) for third in thirds for one in near)
    tie.direct = not tie.own and (alike or not thirds)


def _excluded(ties: Mapping[str, _Tie], home: str | None) -> set[str]:
    """Return the stories that the article must not be joined with. ``home`` is its present story."""
    of_others = [story for story, tie in ties.items() if tie.others]
    allowed = {story for story in of_others if ties[story].direct}
    if home in of_others and home not in allowed:
        allowed = {home}
    elif not allowed:
        # Only articles of its own site are similar. The article joins the story of one of them.
        allowed = set([story for story in of_others if ties[story].own][:1])
    return {story for story in of_others if story not in allowed}


def _is_alike(one: Article, other: Article, template_of: str | None = None) -> bool:
    """Return True if two articles would be peers (:mod:`newsbot.dedup.decision`).

    ``template_of`` is the source whose template is known.
    """
    likeness = compare(Text(one), Text(other))
    if likeness.alike < SAME_STORY_EXACT and not continues(one, other, likeness):
        return False
    most = Change.NONE if template_of in (one.source, other.source) else Change.NAMES
    return likeness.change <= most


def part(storage: Storage, story: str, template_of: str) -> None:
    """Split a story in which texts that a source made from one template were joined.

    Stories with too many articles to compare at once are left as they are. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    members = list(islice(storage.articles.iter(ArticleFilter(story=story)), MAX_COMPARED + 1))
    groups = regroup(members, template_of) if len(members) <= MAX_COMPARED else []
    if len(groups) < 2:
        return
    for name, group in zip(storage.stories.split([_urls(group) for group in groups]), groups, strict=True):
        for one in group:
            if one.duplicate_of is not None and one.duplicate_of not in _urls(group):
                storage.stories.assign(one.canonical_url, name, None)


def _urls(group: Sequence[Article]) -> list[str]:
    return [one.canonical_url for one in group]


def regroup(members: Sequence[Article], template_of: str | None = None) -> list[list[Article]]:
    """Split the articles of a story into groups that belong together. The largest group comes first.

    ``template_of`` is a source that fills a template with the texts of this story.
    """
    compared = list(members[:MAX_REGROUPED])
    parts = {one.canonical_url: [one] for one in compared}

    def unite(one: Article, other: Article) -> None:
        left, right = parts[one.canonical_url], parts[other.canonical_url]
        if left is not right:
            left.extend(right)
            parts.update((member.canonical_url, left) for member in right)

    pairs = [(one, other) for one, other in combinations(compared, 2) if _is_alike(one, other, template_of)]
    for one, other in pairs:
        if one.source != other.source:
            unite(one, other)
    for one, other in pairs:
        both = parts[one.canonical_url], parts[other.canonical_url]
        if one.source == other.source and not all(any(m.source != one.source for m in part) for part in both):
            unite(one, other)
    groups = list({id(part): part for part in parts.values()}.values())
    groups.sort(key=len, reverse=True)
    if groups:
        groups[0].extend(members[MAX_REGROUPED:])
    return groups
