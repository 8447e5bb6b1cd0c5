"""Writes segments: from articles that wait, and from smaller segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.entry import Entry
from newsbot.search.index.layout import Bucket, BucketWriter, buckets_for, head_blocks, keys_of
from newsbot.search.index.postings import Ints, Postings, chosen_of, joined, postings_of, replace_docs
from newsbot.search.index.segments import KEYS, LENGTHS, MOMENTS, Segment

_POSTING_BYTES = 4  # article, weight, count
_PLACE_BYTES = 2


def fold(store: BlockStore, number: int, entries: Sequence[Entry]) -> Segment:
    """Write a segment of these articles, 65,536 at most; return it."""
    newest_first = sorted(entries, key=lambda one: one.moment, reverse=True)
    postings = postings_of(newest_first)
    lengths = np.array([len(one.title.split()) + len(one.text.split()) for one in newest_first], np.int64)
    moments = np.array([one.moment for one in newest_first], np.int64)
    keys = [(one.key, one.version) for one in newest_first]
    return write_segment(store, number, postings, (lengths, moments, keys))


def write_segment(
    store: BlockStore,
    number: int,
    postings: Postings,
    heads: tuple[Ints, Ints, Sequence[tuple[bytes, int]]],
) -> Segment:
    """Write a segment of postings that fit into memory; ``heads``: words, moments, and keys with versions."""
    lengths, moments, keys = heads
    size = _POSTING_BYTES * len(postings.doc) + _PLACE_BYTES * len(postings.position)
    segment = _segment(number, buckets_for(size), lengths, moments)
    blocks = dict(head_blocks(segment, lengths, moments, keys))
    blocks |= BucketWriter(segment).blocks(postings, range(segment.buckets))
    store.write(blocks)
    return segment


def merge(
    store: BlockStore,
    number: int,
    parts: Sequence[Segment],
    go_on: Callable[[], bool],
    without: frozenset[bytes] = frozenset(),
) -> Segment | None:
    """Write one segment of the articles of several but for some, a share of their terms at a time; return it.

    ``go_on`` is asked in between; when it says no, what was written so far is of no use, and None comes back.
    A segment without any article is not written.
    """
    heads = [_Heads.read(store, part) for part in parts]
    moments = np.concatenate([one.moments for one in heads])
    lengths = np.concatenate([one.lengths for one in heads])
    keys = [key for one in heads for key in one.keys]
    kept = np.fromiter((key not in without for key, _ in keys), bool, len(keys))
    order = np.argsort(-moments, kind="stable")
    order = order[kept[order]]
    buckets = 1 << max(1, sum(part.buckets for part in parts) - 1).bit_length() - 1
    groups = min(part.buckets for part in parts)
    if not len(order):
        return Segment(number, 0, 1, 0, 0, 0)
    segment = _segment(number, max(groups, buckets), lengths[order], moments[order])
    store.write(dict(head_blocks(segment, lengths[order], moments[order], [keys[place] for place in order])))
    rank = np.zeros(len(keys), np.uint16)
    rank[order] = np.arange(len(order), dtype=np.uint16)
    ends = np.cumsum([part.docs for part in parts])[:-1]
    maps = list(zip(np.split(rank, ends), np.split(kept, ends), strict=True))
    writer = BucketWriter(segment)
    for group in range(groups):
        if not go_on():
            return None
        read = list(_group(store, parts, maps, group, groups))
        store.write(writer.blocks(joined(read), range(group, segment.buckets, groups)))
    return segment


def _segment(number: int, buckets: int, lengths: Ints, moments: Ints) -> Segment:
    return Segment(number, len(moments), buckets, int(lengths.sum()), int(moments[0]), int(moments[-1]))


@dataclass(frozen=True, slots=True)
class _Heads:
    lengths: Ints
    moments: Ints
    keys: list[tuple[bytes, int]]

    @classmethod
    def read(cls, store: BlockStore, segment: Segment) -> _Heads:
        """Read what a segment knows of each article."""
        places = range(KEYS, segment.first_bucket)
        found = store.blocks([segment.block(place) for place in (LENGTHS, MOMENTS, *places)])
        return cls(
            np.frombuffer(found[segment.block(LENGTHS)], "<u2").astype(np.int64),
            np.frombuffer(found[segment.block(MOMENTS)], "<i8"),
            [key for place in places for key in keys_of(found[segment.block(place)])],
        )


def _group(
    store: BlockStore, parts: Sequence[Segment], maps: Sequence[tuple[Ints, Ints]], group: int, groups: int
) -> Iterator[Postings]:
    """Read all terms whose hash is ``group`` modulo ``groups``, with the articles' new numbers."""
    for segment, (numbers, kept) in zip(parts, maps, strict=True):
        places = [segment.first_bucket + bucket for bucket in range(group, segment.buckets, groups)]
        wanted = [segment.block(place + more) for place in places for more in (0, segment.buckets)]
        found = store.blocks(wanted)
        for place in places:
            bucket = Bucket(found[segment.block(place)], found[segment.block(place + segment.buckets)])
            aside = [int(one) for one in (*bucket.large, *bucket.large_places) if one]
            large = store.blocks([segment.block(one) for one in aside]) if aside else {}
            own = bucket.postings({one: large[segment.block(one)] for one in aside})
            chosen = own if kept.all() else chosen_of(own, kept[own.doc])
            yield replace_docs(chosen, numbers)


def holders(store: BlockStore, segments: Sequence[Segment], keys: frozenset[bytes]) -> list[Segment]:
    """Return the segments that have an entry of one of these articles."""
    return [one for one in segments if any(key in keys for key, _ in _Heads.read(store, one).keys)]
