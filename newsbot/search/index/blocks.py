"""The interface of a backend to the word index: numbered blocks, one state, and the list of what waits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from newsbot.search.index.entry import Entry
from newsbot.search.index.segments import State

_REMEMBERED = 48 * 2**20  # bytes


class BlockStore(Protocol):
    """Blocks never change once the state names their segment. Faults surface as the backend's own."""

    def state(self) -> State:
        """Which segments there are."""

    def change(
        self, old: State, new: State, folded: Sequence[Entry] = (), purged: Iterable[bytes] = ()
    ) -> bool:
        """Write ``new``, take ``folded`` and ``purged`` off their lists in one step; False if not ``old``."""

    def removed(self, among: Sequence[bytes] | None = None) -> frozenset[bytes]:
        """The keys of articles that were removed and may still be in segments; all, or ``among`` some."""

    def waiting(self, limit: int, *, newest: bool = False) -> list[Entry]:
        """What was stored and is in no segment yet, the oldest first (or ``newest``)."""

    def blocks(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """The blocks with these numbers that exist."""

    def write(self, blocks: Mapping[int, bytes]) -> None:
        """Write blocks, over those of the same numbers."""

    def drop(self, first: int, after: int) -> None:
        """Delete the blocks from ``first`` up to but not ``after``."""


class BlockCache:
    """Reads blocks and remembers the ones read last. For one thread."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store
        self._known: OrderedDict[int, bytes] = OrderedDict()
        self._size = 0

    def fetch(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return blocks by number. Raises ``LookupError`` if one is not there (any more)."""
        wanted = list(dict.fromkeys(numbers))
        found: dict[int, bytes] = {}
        for number in wanted:
            if number in self._known:
                self._known.move_to_end(number)
                found[number] = self._known[number]
        missing = [number for number in wanted if number not in found]
        if missing:
            read = self._store.blocks(missing)
            if len(read) < len(missing):
                raise LookupError("a segment was merged meanwhile")
            found.update(read)
            self._keep(read)
        return found

    def _keep(self, read: Mapping[int, bytes]) -> None:
        for number, body in read.items():
            self._known[number] = body
            self._size += len(body)
        while self._size > _REMEMBERED and self._known:
            self._size -= len(self._known.popitem(last=False)[1])
