"""Searches the index: all segments and what waits, the newest first.

By time, segments older than what was found are not looked at. By rank, all that match are ranked, up to
the newest :data:`MAX_RANKED` in segments looked at; phrases of words that most articles have, up to
:data:`MAX_RUNS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from newsbot.search.index.blocks import BlockCache, BlockStore
from newsbot.search.index.entry import Entry, micros
from newsbot.search.index.matching import Asked, Matches, matches, names_of, rareness_weighted
from newsbot.search.index.postings import Ints
from newsbot.search.index.views import FewView, SegmentView, View
from newsbot.search.query import ArticleFilter, Query

MAX_RANKED = 1_000_000
"""Of more articles that match, those in older segments are not ranked."""
MAX_RUNS = 50_000
"""The same for queries with phrases."""
MAX_PLACES = 2_500_000
"""Places of words of phrases that are looked at: a phrase of words that stand many times in every article is
not looked for in segments older than that."""
MAX_WAITING = 4_096
"""Articles that wait and are looked through, those stored last; there are more only while an index is made
anew."""
_TRIES = 3
_SPARE = 20  # entries of earlier versions meet no article any more


@dataclass(frozen=True, slots=True)
class Found:
    """One entry that matches."""

    key: bytes
    version: int
    score: float
    folded: bool
    """It is in a segment: perhaps that of an article which was removed since, and came again."""


def asked_of(query: Query, where: ArticleFilter | None) -> Asked:
    """Return a query with the conditions of a filter, but for its story."""
    where = where or ArticleFilter()
    moments = [micros(one) for one in (query.since, where.since) if one is not None]
    ends = [micros(one) for one in (query.until, where.until) if one is not None]
    return Asked(
        query,
        _both(query.sites, where.source),
        _both(query.languages, where.language),
        max(moments, default=None),
        min(ends, default=None),
    )


def _both(asked: Sequence[str], one: str | None) -> frozenset[str] | None:
    wanted = frozenset(asked) if asked else None
    if one is None:
        return wanted
    return frozenset((one,)) if wanted is None or one in wanted else frozenset()


class WordIndex:
    """Reads the index. For one thread."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store
        self._cache = BlockCache(store)

    def find(self, asked: Asked, *, limit: int, by_time: bool) -> Iterator[list[Found]]:
        """Yield what matches, the best (or newest) first, part by part: the first has what ``limit`` needs.

        Entries of earlier versions of articles are among them.
        """
        return self._find(self._views, asked, limit=limit, by_time=by_time)

    def find_among(
        self, entries: Sequence[Entry], asked: Asked, *, limit: int, by_time: bool
    ) -> Iterator[list[Found]]:
        """The same among a few articles."""
        return self._find(lambda terms: [FewView(entries, terms)], asked, limit=limit, by_time=by_time)

    def _find(
        self, views: Callable[[list[bytes]], list[View]], asked: Asked, *, limit: int, by_time: bool
    ) -> Iterator[list[Found]]:
        wanted = limit + _SPARE
        given = 0
        while True:
            found, more = self._again(
                lambda top: self._present(lambda: _top(views(asked.terms()), asked, top, by_time=by_time)),
                wanted,
            )
            yield found[given:]
            if not more:
                return
            given = len(found)
            wanted *= 4

    def _present(self, look: Callable[[], tuple[list[Found], bool]]) -> tuple[list[Found], bool]:
        """Leave out words of segments that articles had before they were removed.

        What waits of an article that was removed only now may have come after it was read: look again.
        """
        known: frozenset[bytes] = frozenset()
        while True:
            found, more = look()
            folded = [one.key for one in found if one.folded]
            removed = self._store.removed(folded) if folded else frozenset()
            if removed <= known:
                return [one for one in found if not (one.folded and one.key in removed)], more
            known |= removed

    @staticmethod
    def _again(work: Callable[[int], tuple[list[Found], bool]], top: int) -> tuple[list[Found], bool]:
        """Try again when segments were merged while they were read."""
        for _ in range(_TRIES - 1):
            try:
                return work(top)
            except LookupError:
                continue
        return work(top)

    def _views(self, terms: list[bytes]) -> list[View]:
        """All views, the newest first. What waits is read first: an entry may be seen twice, never missed."""
        waiting = self._store.waiting(MAX_WAITING, newest=True)
        segments = [SegmentView(one, self._cache) for one in self._store.state().segments]
        self._cache.fetch(number for view in segments for number in view.wanted(terms))
        segments.sort(key=lambda view: view.newest, reverse=True)
        return [FewView(waiting, terms), *segments] if waiting else [*segments]


def _top(views: list[View], asked: Asked, top: int, *, by_time: bool) -> tuple[list[Found], bool]:
    """Return the best or newest, and whether there are more."""
    hits = _newest(views, asked, top) if by_time else _best(views, asked, top)
    chosen = hits[:top]
    by_view: dict[int, list[int]] = {}
    for _, number, doc in chosen:
        by_view.setdefault(number, []).append(doc)
    keys = {
        (number, doc): key
        for number, docs in by_view.items()
        for doc, key in zip(docs, views[number].keys(docs), strict=True)
    }
    found: dict[tuple[bytes, int, bool], Found] = {}
    for score, number, doc in chosen:
        key, version = keys[number, doc]
        folded = isinstance(views[number], SegmentView)
        found.setdefault(
            (key, version, folded), Found(key, version, 0.0 if by_time else score, folded=folded)
        )
    return list(found.values()), len(hits) > top


_Hit = tuple[float, int, int]
"""Score or moment, number of the view, article."""


def _newest(views: list[View], asked: Asked, top: int) -> list[_Hit]:
    hits: list[_Hit] = []
    unread = MAX_PLACES
    for number, view in enumerate(views):
        if unread <= 0:
            break
        if len(hits) > top and view.newest < hits[top][0]:
            continue
        docs = _matching(view, asked).docs[: top + 1]
        unread -= _places(view, asked)
        moments = view.moments()[docs]
        hits += [(moment, number, doc) for moment, doc in zip(moments.tolist(), docs.tolist(), strict=True)]
        hits.sort(key=lambda hit: -hit[0])
        del hits[top + 1 :]
    return hits


def _best(views: list[View], asked: Asked, top: int) -> list[_Hit]:
    rareness = _rareness(views, asked)
    typical = sum(view.words for view in views) / max(1, sum(view.docs for view in views)) or 1.0
    hits: list[_Hit] = []
    most = MAX_RUNS if asked.placed() else MAX_RANKED
    unread = MAX_PLACES
    for number, view in enumerate(views):
        if most <= 0 or unread <= 0:
            break
        some = _matching(view, asked)
        unread -= _places(view, asked)
        if not len(some.docs):
            continue
        most -= len(some.docs)
        scores = rareness_weighted(some, rareness, view.lengths(), typical)
        bound = hits[top][0] if len(hits) > top else -1.0
        places = _largest(scores, top + 1, bound)
        hits += [(float(scores[place]), number, int(some.docs[place])) for place in places]
        hits.sort(key=lambda hit: -hit[0])
        del hits[top + 1 :]
    return hits


def _largest(scores: Ints, top: int, bound: float) -> Ints:
    """Places of the largest above a bound, of equal ones the first."""
    above = np.flatnonzero(scores > np.float32(bound))
    if len(above) > top:
        least = np.partition(scores[above], len(above) - top)[len(above) - top]
        more = above[scores[above] > least]
        above = np.concatenate([more, above[scores[above] == least][: top - len(more)]])
    return above[np.argsort(-scores[above], kind="stable")]


def _rareness(views: list[View], asked: Asked) -> list[float]:
    """BM25's weight of each part, by the rarest of its words."""
    total = sum(view.docs for view in views)
    having = {name: sum(view.having(name) for view in views) for part in asked.parts() for name in part}
    rarest = (min(having[name] for name in part) for part in asked.parts())
    return [math.log(1 + (total - few + 0.5) / (few + 0.5)) for few in rarest]


def _matching(view: View, asked: Asked) -> Matches:
    """Return what matches, and read no large block of a view that cannot have any."""
    if not _possible(view, asked):
        return Matches(np.empty(0, np.int64), [np.empty(0, np.float32) for _ in asked.parts()])
    view.prepare(asked.terms(), asked.placed())
    return matches(view, asked)


def _possible(view: View, asked: Asked) -> bool:
    if asked.since is not None and view.newest < asked.since:
        return False
    marks = asked.marks()
    return all(any(view.having(one) for one in some) for some in marks) and all(
        any(all(view.having(name) for name in names_of(term, phrase)) for phrase in term.phrases())
        for term in asked.query.wanted
    )


def _places(view: View, asked: Asked) -> int:
    """How many places of words of phrases a view had to be read for."""
    if not _possible(view, asked):
        return 0
    return sum(len(view.positions(name)[1]) for name in asked.placed())
