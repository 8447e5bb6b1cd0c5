"""The layout of a segment: blocks of some 16 kB.

First the number of words of each article (uint16), then the moments (int64), then keys with versions,
256 articles a block. Then buckets of terms by hash: names, in how many articles, the articles (uint16)
and weights; then as many blocks of positions. What would make a bucket large has a block of its own
behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from newsbot.search.index.postings import Ints, Postings, gathered
from newsbot.search.index.segments import KEYS, KEYS_A_BLOCK, LENGTHS, MOMENTS, Segment, bucket_of

LARGE = 1_024
"""A term of more articles, or with more places, has a block of its own."""
BUCKET_BYTES = 16_384
_HEAD = struct.Struct("<II")
_KEY = struct.Struct("<16sI")


def buckets_for(size: int) -> int:
    """Return how many buckets to make for so many bytes: a power of two, 65,536 at most."""
    return 1 << min(16, max(0, (size - 1) // BUCKET_BYTES).bit_length())


def head_blocks(
    segment: Segment, lengths: Ints, moments: Ints, keys: Sequence[tuple[bytes, int]]
) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks of what is known of each article."""
    yield segment.block(LENGTHS), np.minimum(lengths, 0xFFFF).astype("<u2").tobytes()
    yield segment.block(MOMENTS), moments.astype("<i8").tobytes()
    for start in range(0, len(keys), KEYS_A_BLOCK):
        body = b"".join(_KEY.pack(*one) for one in keys[start : start + KEYS_A_BLOCK])
        yield segment.block(KEYS + start // KEYS_A_BLOCK), body


def keys_of(body: bytes) -> list[tuple[bytes, int]]:
    """Return the keys and versions of a block."""
    return list(_KEY.iter_unpack(body))


class BucketWriter:
    """Makes the blocks of a segment's terms, in any order of buckets."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._next = segment.first_bucket + 2 * segment.buckets

    def blocks(self, postings: Postings, buckets: Sequence[int]) -> dict[int, bytes]:
        """Return the blocks of these buckets; ``postings`` has all terms of them and no others."""
        own = np.fromiter(
            (bucket_of(name, self._segment.buckets) for name in postings.terms), np.int64, len(postings.terms)
        )
        terms = np.argsort(own, kind="stable")
        rank = np.empty(len(terms), np.int64)
        rank[terms] = np.arange(len(terms))
        order = np.argsort(rank[postings.term], kind="stable")
        sorted_ = _Sorted.of(postings, terms, order)
        starts = np.searchsorted(own[terms], [*buckets]).tolist()
        ends = np.searchsorted(own[terms], [*buckets], "right").tolist()
        found: dict[int, bytes] = {}
        for bucket, start, end in zip(buckets, starts, ends, strict=True):
            self._write(bucket, sorted_, range(start, end), found)
        return found

    def _write(self, bucket: int, own: _Sorted, terms: range, found: dict[int, bytes]) -> None:
        """Write the terms of a bucket, which stand side by side."""
        start, end = terms.start, terms.stop
        docs = slice(int(own.starts[start]), int(own.starts[end]))
        places = slice(int(own.places[start]), int(own.places[end]))
        having = np.diff(own.starts[start : end + 1])
        placed = np.diff(own.places[start : end + 1])
        large_docs, large_places = np.zeros(len(terms), "<u4"), np.zeros(len(terms), "<u4")
        for number in np.flatnonzero((having > LARGE) | (placed > LARGE)).tolist():
            doc, weight, count, position = own.term(start + number)
            if len(doc) > LARGE:
                large_docs[number] = self._aside(doc.tobytes() + weight.tobytes(), found)
            large_places[number] = self._aside(count.tobytes() + position.tobytes(), found)
        inline, kept = np.repeat(large_docs == 0, having), np.repeat(large_places == 0, having)
        names = b"\n".join(own.names[start:end])
        head = (
            _HEAD.pack(len(terms), len(names)) + names + having.astype("<u4").tobytes() + large_docs.tobytes()
        )
        place = self._segment.first_bucket + bucket
        found[self._segment.block(place)] = (
            head + own.doc[docs][inline].tobytes() + own.weight[docs][inline].tobytes()
        )
        positions = own.position[places][np.repeat(large_places == 0, placed)]
        found[self._segment.block(place + self._segment.buckets)] = (
            placed.astype("<u4").tobytes()
            + large_places.tobytes()
            + own.count[docs][kept].tobytes()
            + positions.tobytes()
        )

    def _aside(self, body: bytes, found: dict[int, bytes]) -> int:
        """Put a large term into a block of its own; return its place."""
        place = self._next
        self._next += 1
        found[self._segment.block(place)] = body
        return place


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Postings in the order of buckets."""

    names: list[bytes]
    doc: Ints
    weight: Ints
    count: Ints
    position: Ints
    starts: Ints
    """Where the postings of each term begin, and where the last one's end."""
    places: Ints
    """The same of its positions."""

    @classmethod
    def of(cls, postings: Postings, terms: Ints, order: Ints) -> _Sorted:
        """Sort: ``terms`` and ``order`` are the new orders of terms and of postings."""
        count = postings.count[order]
        having = np.bincount(postings.term, minlength=len(terms))[terms]
        starts = np.concatenate([[0], np.cumsum(having)])
        return cls(
            [postings.terms[number] for number in terms.tolist()],
            postings.doc[order],
            postings.weight[order],
            count,
            gathered(postings.position, postings.count, order),
            starts,
            np.concatenate([[0], np.cumsum(count, dtype=np.int64)])[starts],
        )

    def term(self, number: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The articles, weights, counts and positions of a term."""
        docs = slice(int(self.starts[number]), int(self.starts[number + 1]))
        places = slice(int(self.places[number]), int(self.places[number + 1]))
        return self.doc[docs], self.weight[docs], self.count[docs], self.position[places]


class Bucket:
    """The terms of a bucket, as they were written; ``places`` is the block of their positions, or None."""

    def __init__(self, body: bytes, places: bytes | None = None) -> None:
        terms, names = _HEAD.unpack_from(body)
        start = _HEAD.size + names
        self._names = b"\n%b\n" % body[_HEAD.size : start]
        self.having = np.frombuffer(body, "<u4", terms, start)
        self.large = np.frombuffer(body, "<u4", terms, start + 4 * terms)
        self._body, self._start = body, start + 8 * terms
        self._places = places
        if places is not None:
            self.placed = np.frombuffer(places, "<u4", terms)
            self.large_places = np.frombuffer(places, "<u4", terms, 4 * terms)

    def names(self) -> list[bytes]:
        """Return all its terms."""
        return self._names[1:-1].split(b"\n") if len(self.having) else []

    def find(self, term: bytes) -> int | None:
        """Return the place of a term among all."""
        if b"\n" in term:  # no term has that, and it would find two of them
            return None
        at = self._names.find(b"\n%b\n" % term)
        return None if at < 0 else self._names.count(b"\n", 0, at)

    def docs(self, number: int, large: Mapping[int, bytes]) -> tuple[Ints, Ints]:
        """Return the articles and weights of a term; ``large`` has blocks by their place."""
        having = int(self.having[number])
        if place := int(self.large[number]):
            return _pair(large[place], having, "<u2", "u1")
        before = int(self.having[:number][self.large[:number] == 0].sum())
        weights = self._start + (len(self._body) - self._start) // 3 * 2 + before
        return (
            np.frombuffer(self._body, "<u2", having, self._start + 2 * before),
            np.frombuffer(self._body, "u1", having, weights),
        )

    def positions(self, number: int, large: Mapping[int, bytes]) -> tuple[Ints, Ints]:
        """Return how many places each article of a term has, and all places."""
        assert self._places is not None
        having, placed = int(self.having[number]), int(self.placed[number])
        if place := int(self.large_places[number]):
            counts = np.frombuffer(large[place], "u1", having)
            return counts, np.frombuffer(large[place], "<u2", placed, having)
        inline = self.large_places == 0
        counts_before = int(self.having[:number][inline[:number]].sum())
        places_before = int(self.placed[:number][inline[:number]].sum())
        start = 8 * len(self.having)
        first_place = start + int(self.having[inline].sum())
        return (
            np.frombuffer(self._places, "u1", having, start + counts_before),
            np.frombuffer(self._places, "<u2", placed, first_place + 2 * places_before),
        )

    def postings(self, large: Mapping[int, bytes]) -> Postings:
        """Return all that the bucket has."""
        assert self._places is not None
        having, placed = self.having.astype(np.int64), self.placed.astype(np.int64)
        inline, kept = np.repeat(self.large == 0, having), np.repeat(self.large_places == 0, having)
        doc, weight = np.empty(len(inline), np.uint16), np.empty(len(inline), np.uint8)
        count, position = np.empty(len(inline), np.uint8), np.empty(int(placed.sum()), np.uint16)
        start = self._start
        doc[inline] = np.frombuffer(self._body, "<u2", int(inline.sum()), start)
        weight[inline] = np.frombuffer(self._body, "u1", int(inline.sum()), start + 2 * int(inline.sum()))
        start = 8 * len(having)
        kept_places = np.repeat(self.large_places == 0, placed)
        count[kept] = np.frombuffer(self._places, "u1", int(kept.sum()), start)
        start += int(kept.sum())
        position[kept_places] = np.frombuffer(self._places, "<u2", int(kept_places.sum()), start)
        ends, place_ends = np.cumsum(having), np.cumsum(placed)
        for number in np.flatnonzero((self.large > 0) | (self.large_places > 0)).tolist():
            own = slice(int(ends[number] - having[number]), int(ends[number]))
            own_places = slice(int(place_ends[number] - placed[number]), int(place_ends[number]))
            doc[own], weight[own] = self.docs(number, large)
            count[own], position[own_places] = self.positions(number, large)
        terms = np.repeat(np.arange(len(having), dtype=np.int32), having)
        return Postings(self.names(), terms, doc, weight, count, position)


def _pair(body: bytes, count: int, first: str, second: str) -> tuple[Ints, Ints]:
    size = np.dtype(first).itemsize * count
    return np.frombuffer(body, first, count), np.frombuffer(body, second, count, size)
