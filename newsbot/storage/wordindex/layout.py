"""How a segment lies in blocks of some 16 kB.

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

from newsbot.storage.wordindex.postings import Ints, Postings
from newsbot.storage.wordindex.segments import KEYS, KEYS_A_BLOCK, LENGTHS, MOMENTS, Segment, bucket_of

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
        members: dict[int, list[int]] = {bucket: [] for bucket in buckets}
        for number, name in enumerate(postings.terms):
            members[bucket_of(name, self._segment.buckets)].append(number)
        having = np.bincount(postings.term, minlength=len(postings.terms))
        ends = np.cumsum(having)
        places = np.concatenate([[0], np.cumsum(postings.count, dtype=np.int64)])
        arrays = _Arrays(postings, (ends - having).tolist(), ends.tolist(), places)
        found: dict[int, bytes] = {}
        for bucket, terms in members.items():
            self._write(bucket, terms, arrays, found)
        return found

    def _write(self, bucket: int, terms: list[int], arrays: _Arrays, found: dict[int, bytes]) -> None:
        parts: tuple[list[bytes], ...] = ([], [], [], [])
        columns: tuple[list[int], ...] = ([], [], [], [])  # articles, block of them, places, block of them
        for term in terms:
            docs, weights, counts, positions = arrays.of(term)
            own = (len(docs), 0, len(positions), 0)
            large_docs = self._aside(len(docs), docs, weights, found)
            large_places = self._aside(len(positions), counts, positions, found)
            if not large_docs:
                parts[0].append(docs.tobytes())
                parts[1].append(weights.tobytes())
            if not large_places:
                parts[2].append(counts.tobytes())
                parts[3].append(positions.tobytes())
            for column, value in zip(columns, (own[0], large_docs, own[2], large_places), strict=True):
                column.append(value)
        names = b"\n".join(arrays.postings.terms[term] for term in terms)
        numbers = [np.array(column, "<u4").tobytes() for column in columns]
        place = self._segment.first_bucket + bucket
        head = _HEAD.pack(len(terms), len(names)) + names + numbers[0] + numbers[1]
        found[self._segment.block(place)] = head + b"".join(parts[0]) + b"".join(parts[1])
        found[self._segment.block(place + self._segment.buckets)] = (
            numbers[2] + numbers[3] + b"".join(parts[2]) + b"".join(parts[3])
        )

    def _aside(self, size: int, first: Ints, second: Ints, found: dict[int, bytes]) -> int:
        """Put a large term into a block of its own; return its place, 0 if it is not large."""
        if size <= LARGE:
            return 0
        place = self._next
        self._next += 1
        found[self._segment.block(place)] = first.tobytes() + second.tobytes()
        return place


@dataclass(frozen=True, slots=True)
class _Arrays:
    postings: Postings
    starts: list[int]
    ends: list[int]
    places: Ints

    def of(self, term: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The articles, weights, counts and positions of a term."""
        start, end = self.starts[term], self.ends[term]
        all_of = self.postings
        positions = all_of.position[self.places[start] : self.places[end]]
        return all_of.doc[start:end], all_of.weight[start:end], all_of.count[start:end], positions


class Bucket:
    """The terms of a bucket, as they were written; ``places`` is the block of their positions, or None."""

    def __init__(self, body: bytes, places: bytes | None = None) -> None:
        terms, names = _HEAD.unpack_from(body)
        start = _HEAD.size + names
        self.names = body[_HEAD.size : start].split(b"\n") if terms else []
        self.having = np.frombuffer(body, "<u4", terms, start)
        self.large = np.frombuffer(body, "<u4", terms, start + 4 * terms)
        self._body, self._start = body, start + 8 * terms
        self._inline = np.where(self.large == 0, self.having, 0).astype(np.int64)
        self._places = places
        if places is not None:
            self.placed = np.frombuffer(places, "<u4", terms)
            self.large_places = np.frombuffer(places, "<u4", terms, 4 * terms)

    def find(self, term: bytes) -> int | None:
        """Return the place of a term among ``names``."""
        try:
            return self.names.index(term)
        except ValueError:
            return None

    def docs(self, number: int, large: Mapping[int, bytes]) -> tuple[Ints, Ints]:
        """Return the articles and weights of a term; ``large`` has blocks by their place."""
        having = int(self.having[number])
        if place := int(self.large[number]):
            return _pair(large[place], having, "<u2", "u1")
        before = int(self._inline[:number].sum())
        weights = self._start + 2 * int(self._inline.sum()) + before
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
        docs = [self.docs(number, large) for number in range(len(self.names))]
        places = [self.positions(number, large) for number in range(len(self.names))]
        return Postings(
            self.names,
            np.repeat(np.arange(len(self.names), dtype=np.int32), self.having),
            _all((one for one, _ in docs), np.uint16),
            _all((one for _, one in docs), np.uint8),
            _all((one for one, _ in places), np.uint8),
            _all((one for _, one in places), np.uint16),
        )


def _pair(body: bytes, count: int, first: str, second: str) -> tuple[Ints, Ints]:
    size = np.dtype(first).itemsize * count
    return np.frombuffer(body, first, count), np.frombuffer(body, second, count, size)


def _all(parts: Iterator[Ints], kind: type[np.generic]) -> Ints:
    some = list(parts)
    return np.concatenate(some) if some else np.empty(0, kind)
