"""Finds which articles of a view match a query, and how well: sets as masks over its articles.

Rank is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with the usual
constants; a word of the title counts as four.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from newsbot.search.index.entry import UNDATED
from newsbot.search.index.postings import (
    AUTHOR,
    LANGUAGE,
    MAX_POSITION,
    ONLY_TITLE,
    SITE,
    TEXT_BEGINS,
    Ints,
    gathered,
    in_text,
    in_title,
    repeated,
)
from newsbot.search.index.views import View
from newsbot.search.query import Query, Term

TITLE_WEIGHT = 4.0
K1, B = 1.2, 0.75
_WEIGHTS = np.arange(256, dtype=np.uint8)
_OFTEN = (TITLE_WEIGHT * in_title(_WEIGHTS) + in_text(_WEIGHTS)).astype(np.float32)
_FEW = 8
"""Of so many times fewer values each is looked for among the others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with the conditions of a filter; moments in microseconds."""

    query: Query
    sources: frozenset[str] | None
    """Any of these; None: any at all."""
    languages: frozenset[str] | None
    since: int | None
    until: int | None

    def terms(self) -> list[bytes]:
        """All terms that a view is asked for."""
        found = [name for term in self._all() for phrase in term.phrases() for name in names_of(term, phrase)]
        marks = [*_marks(SITE, self.sources or ()), *_marks(LANGUAGE, self.languages or ())]
        marks += [*_marks(SITE, self.query.not_sites), *_marks(LANGUAGE, self.query.not_languages)]
        return list(dict.fromkeys([*found, *marks]))

    def placed(self) -> list[bytes]:
        """Those of phrases: one asks where they stand."""
        long = (term for term in self._all() if len(term.words) > 1)
        return list({name for term in long for phrase in term.phrases() for name in names_of(term, phrase)})

    def parts(self) -> list[list[bytes]]:
        """What counts for the rank: the terms of each way to write what is wanted."""
        return [names_of(term, phrase) for term in self.query.wanted for phrase in term.phrases()]

    def marks(self) -> list[list[bytes]]:
        """Marks, of each list of which an article has to have one."""
        wanted = ((SITE, self.sources), (LANGUAGE, self.languages))
        return [_marks(mark, values) for mark, values in wanted if values is not None]

    def _all(self) -> list[Term]:
        return [*self.query.wanted, *self.query.unwanted]


@dataclass(frozen=True, slots=True)
class Matches:
    """Articles that match, and how often each has each part (:meth:`Asked.parts`), titles counting more."""

    docs: Ints
    often: list[Ints]


def names_of(term: Term, phrase: tuple[str, ...]) -> list[bytes]:
    """Return the terms of a run of stems."""
    before = AUTHOR if term.field == "author" else ""
    return [(before + stem).encode() for stem in phrase]


def matches(view: View, asked: Asked) -> Matches:
    """Return the articles of a view that match."""
    mask = _permitted(view, asked)
    query = asked.query
    weights = [_weights(view, term) for term in query.wanted]
    for ways in weights:
        mask &= np.logical_or.reduce([way != 0 for way in ways])
    often: list[Ints] = []
    for term, ways in zip(query.wanted, weights, strict=True):
        if len(term.words) == 1:
            often += ways
        elif mask.any():  # phrases are the dearest: only where all the rest is right
            runs = [_often(view, term, phrase, mask) for phrase in term.phrases()]
            mask &= np.logical_or.reduce([way != 0 for way in runs])
            often += runs
    for term in query.unwanted:
        for phrase in term.phrases():
            long = len(phrase) > 1
            mask &= (_often(view, term, phrase, mask) if long else _weight(view, term, phrase)) == 0
    docs = np.flatnonzero(mask)
    return Matches(docs, [_OFTEN.take(one[docs]) if one.dtype == np.uint8 else one[docs] for one in often])


def _permitted(view: View, asked: Asked) -> Ints:
    """The articles whose date, site and language are right."""
    mask = np.ones(view.docs, bool)
    _keep_dates(mask, view, asked)
    for mark, wanted in ((SITE, asked.sources), (LANGUAGE, asked.languages)):
        if wanted is not None:
            mask &= _any(view, _marks(mark, wanted))
    for mark, unwanted in ((SITE, asked.query.not_sites), (LANGUAGE, asked.query.not_languages)):
        if unwanted:
            mask &= ~_any(view, _marks(mark, unwanted))
    return mask


def rareness_weighted(some: Matches, rareness: Sequence[float], lengths: Ints, typical: float) -> Ints:
    """Return the rank of each article that matches: BM25. ``lengths``: words of all articles of the view."""
    norm = lengths[some.docs].astype(np.float32)
    norm *= np.float32(K1 * B / typical)
    norm += np.float32(K1 * (1 - B))
    scores = np.zeros(len(some.docs), np.float32)
    for weight, often in zip(rareness, some.often, strict=True):
        scores += often * np.float32(weight * (K1 + 1)) / (often + norm)
    return scores


def _keep_dates(mask: Ints, view: View, asked: Asked) -> None:
    if asked.since is None and asked.until is None:
        return
    moments = view.moments()
    mask &= moments != UNDATED
    if asked.since is not None:
        mask &= moments >= asked.since
    if asked.until is not None:
        mask &= moments < asked.until


def _any(view: View, terms: Iterable[bytes]) -> Ints:
    mask = np.zeros(view.docs, bool)
    for term in terms:
        mask[view.postings(term)[0]] = True
    return mask


def _weights(view: View, term: Term) -> list[Ints]:
    """Of each way to write a term its weight in each article; of phrases whether all the words are there."""
    return [_weight(view, term, phrase) for phrase in term.phrases()]


def _weight(view: View, term: Term, phrase: tuple[str, ...]) -> Ints:
    names = names_of(term, phrase)
    if len(names) > 1:
        everywhere: Ints = np.logical_and.reduce([_any(view, [name]) for name in names])
        return everywhere
    docs, weights = view.postings(names[0])
    found = np.zeros(view.docs, np.uint8)
    found[docs] = weights & ONLY_TITLE if term.field == "title" else weights
    return found


def _often(view: View, term: Term, phrase: tuple[str, ...], mask: Ints) -> Ints:
    """How often each article has a phrase, titles counting more."""
    runs = _runs(view, names_of(term, phrase), mask)
    titles = (runs & 0xFFFF) < TEXT_BEGINS if term.field != "author" else np.zeros(len(runs), bool)
    weights = np.where(titles, TITLE_WEIGHT, 0.0 if term.field == "title" else 1.0)
    return np.bincount(runs >> 16, weights, view.docs).astype(np.float32)


def _runs(view: View, names: list[bytes], mask: Ints) -> Ints:
    """Where a phrase begins, in the articles of a mask at least: articles and positions in one, sorted."""
    first, *others = sorted(range(len(names)), key=lambda place: view.having(names[place]))
    found = _placed(view, names[first], mask)
    if first:
        found = found[found & MAX_POSITION >= first] - np.uint32(first)
    for offset in others:
        within = found & MAX_POSITION <= MAX_POSITION - offset
        found = found if within.all() else found[within]
        if len(found) < view.docs // _FEW:
            mask = np.zeros(view.docs, bool)
            mask[found >> 16] = True
        found = _common(found + np.uint32(offset), _placed(view, names[offset], mask)) - np.uint32(offset)
    return found.astype(np.int64)


def _placed(view: View, name: bytes, mask: Ints) -> Ints:
    """Where a term stands, in the articles of a mask at least: articles and positions in one, sorted."""
    docs, _ = view.postings(name)
    counts, positions = view.positions(name)
    chosen = np.flatnonzero(mask[docs])
    if len(chosen) < len(docs) // 2:  # else it takes longer to leave the others out
        positions = gathered(positions, counts, chosen)
        docs, counts = docs[chosen], counts[chosen]
    found: Ints = (repeated(docs, counts) << np.uint32(16)) + positions
    return found


def _common(some: Ints, others: Ints) -> Ints:
    """Return what is in both; each is sorted and has nothing twice."""
    if len(some) * _FEW < len(others):
        places = np.searchsorted(others, some)
        inside = places < len(others)
        found: Ints = some[inside][others[places[inside]] == some[inside]]
        return found
    both = np.concatenate([some, others])
    both.sort()
    twice: Ints = both[:-1][both[1:] == both[:-1]]
    return twice


def _marks(before: str, values: Iterable[str]) -> list[bytes]:
    return [(before + value).encode() for value in values]
