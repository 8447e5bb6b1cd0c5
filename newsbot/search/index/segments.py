"""The list of segments, who may write them now, and which ones are to be merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from zlib import crc32

MAX_DOCS = 65_536
"""Articles of a segment."""
TIERS = (2_048, 16_384, MAX_DOCS)
"""Segments below a bound are merged until they reach it."""
_WORTH = MAX_DOCS * 3 // 4
"""A merge that cannot reach the highest bound is worth it from so many articles on."""
TOGETHER = 8
"""Segments of one tier that are merged, at most."""
KEYS_A_BLOCK = 256
LENGTHS, MOMENTS, KEYS = 0, 1, 2
"""The first blocks of a segment: words of each article, moments, and from there on keys with versions."""
_SEGMENT_BITS = 24


@dataclass(frozen=True, slots=True)
class Segment:
    """Articles that were indexed together; it never changes."""

    number: int
    docs: int
    buckets: int
    """Its terms are spread over so many blocks by their hash: a power of two."""
    words: int
    """Words of all its articles."""
    newest: int
    oldest: int
    """Moments (:mod:`newsbot.search.index.entry`)."""

    def block(self, place: int) -> int:
        """Return the number of its n-th block."""
        return self.number << _SEGMENT_BITS | place

    @property
    def first_bucket(self) -> int:
        """The place of the first block of terms; as many with their positions follow, then large terms."""
        return KEYS + -(-self.docs // KEYS_A_BLOCK)

    def bucket(self, term: bytes) -> int:
        """Return the place of the block that has a term."""
        return self.first_bucket + bucket_of(term, self.buckets)


def bucket_of(term: bytes, buckets: int) -> int:
    """Return in which of so many buckets a term is."""
    return crc32(term) & (buckets - 1)


def blocks_of(number: int) -> tuple[int, int]:
    """Return the first block of a segment and the one behind its last."""
    return number << _SEGMENT_BITS, (number + 1) << _SEGMENT_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that changes: written whole, if nobody else did meanwhile (``revision``)."""

    revision: int = 0
    segments: tuple[Segment, ...] = ()
    next: int = 1
    """The number of the next segment; none is used twice."""
    building: tuple[int, ...] = ()
    """Segments that are being written, or were when a process died."""
    doomed: tuple[tuple[int, float], ...] = ()
    """Segments that were merged, and since when: readers may still be at them."""
    owner: str = ""
    """Who may change the index, until when (POSIX seconds)."""
    until: float = 0.0

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def changed(self, **values: object) -> State:
        """Return the state that follows."""
        return replace(self, revision=self.revision + 1, **values)  # type: ignore[arg-type]


def state_of(text: str | None) -> State:
    """Read what :meth:`State.to_json` wrote; None: there is no index yet."""
    if text is None:
        return State()
    values = json.loads(text)
    values["segments"] = tuple(Segment(**one) for one in values["segments"])
    values["building"] = tuple(values["building"])
    values["doomed"] = tuple((number, since) for number, since in values["doomed"])
    return State(**values)


def to_merge(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments that are to be merged next, the smallest of the lowest tier first; or none."""
    below = 0
    for bound in TIERS:
        tier = sorted((one for one in segments if below <= one.docs < bound), key=lambda one: one.docs)
        chosen: list[Segment] = []
        docs = 0
        for one in tier[:TOGETHER]:
            if docs + one.docs <= MAX_DOCS:
                chosen.append(one)
                docs += one.docs
        full = len(chosen) < len(tier[:TOGETHER]) and docs >= _WORTH  # the next one does not fit in
        if len(chosen) > 1 and (docs >= bound or len(chosen) == TOGETHER or full):
            return sorted(chosen, key=lambda one: one.number)
        below = bound
    return []
