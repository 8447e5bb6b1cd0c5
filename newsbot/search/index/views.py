"""Articles that are searched together: those of a segment, or a few that wait, read as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from newsbot.search.index.blocks import BlockCache
from newsbot.search.index.entry import Entry
from newsbot.search.index.layout import Bucket, keys_of
from newsbot.search.index.postings import Ints, postings_of
from newsbot.search.index.segments import KEYS, KEYS_A_BLOCK, LENGTHS, MOMENTS, Segment

_NONE = (np.empty(0, np.uint16), np.empty(0, np.uint8))
_NOWHERE = (np.empty(0, np.uint8), np.empty(0, np.uint16))


class View(Protocol):
    """Numbered articles, the newest first."""

    docs: int
    words: int
    newest: int

    def prepare(self, terms: Iterable[bytes], placed: Iterable[bytes]) -> None:
        """Read what is to be asked of ``terms``, and where those of ``placed`` stand, in one go."""

    def having(self, term: bytes) -> int:
        """How many articles have a term."""

    def postings(self, term: bytes) -> tuple[Ints, Ints]:
        """The articles that have a term, and its weights."""

    def positions(self, term: bytes) -> tuple[Ints, Ints]:
        """How many places each of these articles has, and all places."""

    def lengths(self) -> Ints:
        """Words of each article."""

    def moments(self) -> Ints:
        """The moment of each article."""

    def keys(self, docs: Sequence[int]) -> list[tuple[bytes, int]]:
        """Keys and versions of articles."""


class SegmentView:
    """A segment, read by block. ``terms`` are all that will be asked of it."""

    def __init__(self, segment: Segment, cache: BlockCache) -> None:
        self.docs, self.words, self.newest = segment.docs, segment.words, segment.newest
        self._segment, self._cache = segment, cache
        self._buckets: dict[int, Bucket] = {}
        self._placed: dict[int, Bucket] = {}
        self._large: dict[int, bytes] = {}
        self._known: dict[bytes, tuple[Bucket, int | None]] = {}

    def wanted(self, terms: Iterable[bytes]) -> list[int]:
        """The numbers of the blocks that say where terms are: to be fetched for many segments in one go."""
        return [self._segment.block(self._segment.bucket(term)) for term in terms]

    def prepare(self, terms: Iterable[bytes], placed: Iterable[bytes]) -> None:
        """See :meth:`View.prepare`."""
        segment, where = self._segment, list(placed)
        places = {segment.bucket(term) for term in where}
        found = self._cache.fetch(
            segment.block(place + more) for place in places for more in (0, segment.buckets)
        )
        for place in places:
            body = found[segment.block(place)]
            self._placed[place] = Bucket(body, found[segment.block(place + segment.buckets)])
        aside = [int(bucket.large[n]) for bucket, n in map(self._find, terms) if n is not None]
        for term in where:
            bucket = self._placed[segment.bucket(term)]
            number = bucket.find(term)
            if number is not None:
                aside.append(int(bucket.large_places[number]))
        blocks = self._cache.fetch(segment.block(place) for place in aside if place)
        self._large |= {place: blocks[segment.block(place)] for place in aside if place}

    def having(self, term: bytes) -> int:
        """See :meth:`View.having`."""
        bucket, number = self._find(term)
        return 0 if number is None else int(bucket.having[number])

    def postings(self, term: bytes) -> tuple[Ints, Ints]:
        """See :meth:`View.postings`."""
        bucket, number = self._find(term)
        return _NONE if number is None else bucket.docs(number, self._large)

    def positions(self, term: bytes) -> tuple[Ints, Ints]:
        """See :meth:`View.positions`."""
        bucket = self._placed[self._segment.bucket(term)]
        number = bucket.find(term)
        return _NOWHERE if number is None else bucket.positions(number, self._large)

    def lengths(self) -> Ints:
        """See :meth:`View.lengths`."""
        return np.frombuffer(self._block(LENGTHS), "<u2")

    def moments(self) -> Ints:
        """See :meth:`View.moments`."""
        return np.frombuffer(self._block(MOMENTS), "<i8")

    def keys(self, docs: Sequence[int]) -> list[tuple[bytes, int]]:
        """See :meth:`View.keys`."""
        places = {doc // KEYS_A_BLOCK for doc in docs}
        found = self._cache.fetch(self._segment.block(KEYS + place) for place in places)
        keys = {place: keys_of(found[self._segment.block(KEYS + place)]) for place in places}
        return [keys[doc // KEYS_A_BLOCK][doc % KEYS_A_BLOCK] for doc in docs]

    def _find(self, term: bytes) -> tuple[Bucket, int | None]:
        if term not in self._known:
            place = self._segment.bucket(term)
            if place not in self._buckets:
                self._buckets[place] = Bucket(self._block(place))
            bucket = self._buckets[place]
            self._known[term] = bucket, bucket.find(term)
        return self._known[term]

    def _block(self, place: int) -> bytes:
        number = self._segment.block(place)
        return self._cache.fetch([number])[number]


class FewView:
    """Articles that are in no segment: their words are looked through, for ``terms`` only."""

    def __init__(self, entries: Sequence[Entry], terms: Iterable[bytes]) -> None:
        self._entries = sorted(entries, key=lambda one: one.moment, reverse=True)
        self._lengths = np.array([_words(one) for one in self._entries], np.int64)
        self.docs, self.words = len(entries), int(self._lengths.sum())
        self.newest = self._entries[0].moment if entries else 0
        found = postings_of(self._entries, frozenset(term.decode() for term in terms))
        self._found = found
        self._starts = np.searchsorted(found.term, np.arange(len(found.terms) + 1))
        self._places = np.concatenate([[0], np.cumsum(found.count, dtype=np.int64)])
        self._numbers = {name: number for number, name in enumerate(found.terms)}

    def prepare(self, terms: Iterable[bytes], placed: Iterable[bytes]) -> None:
        """See :meth:`View.prepare`: all is in memory."""

    def having(self, term: bytes) -> int:
        """See :meth:`View.having`."""
        return len(self.postings(term)[0])

    def postings(self, term: bytes) -> tuple[Ints, Ints]:
        """See :meth:`View.postings`."""
        start, end = self._range(term)
        return self._found.doc[start:end], self._found.weight[start:end]

    def positions(self, term: bytes) -> tuple[Ints, Ints]:
        """See :meth:`View.positions`."""
        start, end = self._range(term)
        places = self._found.position[self._places[start] : self._places[end]]
        return self._found.count[start:end], places

    def lengths(self) -> Ints:
        """See :meth:`View.lengths`."""
        return self._lengths

    def moments(self) -> Ints:
        """See :meth:`View.moments`."""
        return np.array([one.moment for one in self._entries], np.int64)

    def keys(self, docs: Sequence[int]) -> list[tuple[bytes, int]]:
        """See :meth:`View.keys`."""
        return [(self._entries[doc].key, self._entries[doc].version) for doc in docs]

    def _range(self, term: bytes) -> tuple[int, int]:
        number = self._numbers.get(term)
        return (0, 0) if number is None else (int(self._starts[number]), int(self._starts[number + 1]))


def _words(entry: Entry) -> int:
    """How many words title and text have: they stand one blank apart."""
    return sum(field.count(" ") + 1 for field in (entry.title, entry.text) if field)
