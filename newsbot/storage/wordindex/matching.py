"""Which articles of a view a query finds, and how well: sets as masks over its articles.

Rank is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with the usual
constants; a word of the title counts as four.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from newsbot.storage.query import Query, Term
from newsbot.storage.wordindex.entry import UNDATED
from newsbot.storage.wordindex.postings import (
    AUTHOR,
    LANGUAGE,
    SITE,
    TEXT_BEGINS,
    Ints,
    in_text,
    in_title,
)
from newsbot.storage.wordindex.views import View

TITLE_WEIGHT = 4.0
K1, B = 1.2, 0.75
_WEIGHTS = np.arange(256, dtype=np.uint8)
_OFTEN = (TITLE_WEIGHT * in_title(_WEIGHTS) + in_text(_WEIGHTS)).astype(np.float32)
_OFTEN_IN_TITLE = (TITLE_WEIGHT * in_title(_WEIGHTS)).astype(np.float32)


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
    mask = np.ones(view.docs, bool)
    _keep_dates(mask, view, asked)
    for mark, wanted in ((SITE, asked.sources), (LANGUAGE, asked.languages)):
        if wanted is not None:
            mask &= _any(view, _marks(mark, wanted))
    query = asked.query
    for mark, unwanted in ((SITE, query.not_sites), (LANGUAGE, query.not_languages)):
        if unwanted:
            mask &= ~_any(view, _marks(mark, unwanted))
    for term in query.wanted:
        mask &= _likely(view, term)
    often: list[Ints] = []
    for term in query.wanted:  # phrases are the dearest: only where all the rest is right
        parts = [_often(view, term, phrase, mask) for phrase in term.phrases()] if mask.any() else []
        mask &= np.any(np.array(parts), axis=0) if parts else False
        often += parts
    for term in query.unwanted:
        for phrase in term.phrases():
            mask &= _often(view, term, phrase, mask) == 0
    docs = np.flatnonzero(mask)
    return Matches(docs, [part[docs] for part in often])


def saturated(often: Ints, lengths: Ints, typical: float) -> Ints:
    """Return BM25's share of one term without its rareness."""
    return often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / typical))


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


def _likely(view: View, term: Term) -> Ints:
    """Articles that have the words of a term, wherever."""
    mask = np.zeros(view.docs, bool)
    for phrase in term.phrases():
        some = np.ones(view.docs, bool)
        for name in names_of(term, phrase):
            some &= _any(view, [name])
        mask |= some
    return mask


def _often(view: View, term: Term, phrase: tuple[str, ...], mask: Ints) -> Ints:
    names = names_of(term, phrase)
    found = np.zeros(view.docs, np.float32)
    if len(names) == 1:
        docs, weights = view.postings(names[0])
        found[docs] = (_OFTEN_IN_TITLE if term.field == "title" else _OFTEN)[weights]
        return found
    runs = _runs(view, names, mask)
    titles = (runs & 0xFFFF) < TEXT_BEGINS if term.field != "author" else np.zeros(len(runs), bool)
    weights = np.where(titles, TITLE_WEIGHT, 0.0 if term.field == "title" else 1.0)
    return np.bincount(runs >> 16, weights, view.docs).astype(np.float32)


def _runs(view: View, names: list[bytes], mask: Ints) -> Ints:
    """Where a phrase begins: articles and positions in one number, sorted."""
    found: Ints | None = None
    offsets = sorted(range(len(names)), key=lambda place: view.having(names[place]))
    for offset in offsets:
        docs, _ = view.postings(names[offset])
        counts, positions = view.positions(names[offset])
        keep = np.repeat(mask[docs], counts) & (positions >= offset)
        begins = np.repeat(docs.astype(np.uint32) << 16, counts)[keep] + positions[keep] - offset
        if found is None:
            found = begins
        else:
            places = np.searchsorted(begins, found)
            inside = places < len(begins)
            found = found[inside][begins[places[inside]] == found[inside]]
        if not len(found):
            break
    assert found is not None
    return found.astype(np.int64)


def _marks(before: str, values: Iterable[str]) -> list[bytes]:
    return [(before + value).encode() for value in values]
