"""Decides when segments are written: one process at a time folds what waits, and merges segments.

The state names who may, and until when; every change of it fails when somebody else changed it
meanwhile, so that a process that was away too long does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from uuid import uuid4

from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.building import fold, holders, merge
from newsbot.search.index.entry import Entry
from newsbot.search.index.segments import Segment, State, blocks_of, to_merge

FOLD_AT = 256
"""So many articles wait until they are folded; searches read them all."""
FOLDED = 2_048
"""Articles that are folded at once, at most."""
_HELD = 60.0
"""Seconds for which a process is alone at the index; it says again and again that it still is."""
PATIENCE = 90.0
"""Seconds without any change of the index after which nobody waits for another process: longer than one that
died can hold it."""
_LOOK = 0.1
_DOOMED = 60.0
"""Seconds for which a reader may still be at a segment that was merged."""


def index_all(store: BlockStore) -> bool:
    """Fold all that waits, and merge, after whoever is at it: a crawl, a thread of this process, a dead one.

    False if the index is another's and has not changed for :data:`PATIENCE` seconds.
    """
    indexer = Indexer(store)
    seen, since = store.state().revision, time.monotonic()
    while not indexer.run(all_of_it=True):
        revision = store.state().revision
        if revision != seen:
            seen, since = revision, time.monotonic()
        if time.monotonic() - since > PATIENCE:
            return False
        time.sleep(_LOOK)
    return True


class Indexer:
    """Keeps the index in order. For one thread."""

    def __init__(self, store: BlockStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._owner = uuid4().hex
        self._state = State()

    def run(self, go_on: Callable[[], bool] = lambda: True, *, all_of_it: bool = False) -> bool:
        """Fold and merge until there is nothing to do; False if another process is at it, or was faster.

        ``go_on`` is asked now and then. ``all_of_it``: fold also when only a few articles wait.
        """
        self._state = self._store.state()
        if self._state.owner not in ("", self._owner) and self._state.until > self._clock():
            return False
        if not self._due(all_of_it=all_of_it):
            return True
        try:
            return self._tidy(everything=True) and self._work(go_on, all_of_it=all_of_it) and self._release()
        except KeyboardInterrupt:  # who runs the command again need not wait until our turn is over
            self._release()
            raise

    def _due(self, *, all_of_it: bool) -> bool:
        state = self._state
        if state.building or state.doomed or to_merge(state.segments) or self._store.removed():
            return True
        return len(self._store.waiting(FOLD_AT)) >= (1 if all_of_it else FOLD_AT)

    def _work(self, go_on: Callable[[], bool], *, all_of_it: bool) -> bool:
        while go_on():
            if not self._purge(go_on):
                return False
            waiting = self._store.waiting(FOLDED)
            removed = self._store.removed()  # meanwhile: what is folded now would be purged in the next turn
            waiting = [one for one in waiting if one.key not in removed]
            if len(waiting) >= FOLD_AT or (all_of_it and waiting):
                number = self._begin()
                if number is None:
                    return False
                new = fold(self._store, number, waiting)
                segments = (*self._state.segments, new)
                if not self._change(waiting, segments=segments, building=()):
                    return self._too_late(number)
            elif to_merge(self._state.segments):
                if not self._merge(go_on, to_merge(self._state.segments)):
                    return False
            else:
                return True
        return True

    def _purge(self, go_on: Callable[[], bool]) -> bool:
        """Write the segments anew that have articles which were removed."""
        removed = self._store.removed()
        if not removed:
            return True
        rewritten = holders(self._store, self._state.segments, removed)
        return all(self._merge(go_on, [one], removed) for one in rewritten) and self._change((), removed)

    def _merge(
        self, go_on: Callable[[], bool], parts: Sequence[Segment], without: frozenset[bytes] = frozenset()
    ) -> bool:
        number = self._begin()
        if number is None:
            return False
        asked = self._clock()

        def on() -> bool:
            nonlocal asked
            if self._clock() - asked > _HELD / 3:
                asked = self._clock()
                return go_on() and self._change()
            return go_on()

        new = merge(self._store, number, parts, on, without)
        if new is None:  # told to stop, and the next one tidies up; or too late
            return self._too_late(number) if not self._release() else False
        rest = tuple(one for one in self._state.segments if one not in parts)
        gone = tuple((part.number, self._clock()) for part in parts)
        segments = (*rest, new) if new.docs else rest
        doomed = (*self._state.doomed, *gone)
        if not self._change(segments=segments, building=(), doomed=doomed):
            return self._too_late(number)
        return self._tidy()

    def _too_late(self, number: int) -> bool:
        """Take away what was written after another process had tidied up; False.

        That one may have begun before the writing ended: nobody would ever look for these blocks.
        """
        state = self._store.state()
        if all(number != one.number for one in state.segments):
            self._store.drop(*blocks_of(number))
        return False

    def _begin(self) -> int | None:
        """Announce a segment and return its number; None if another process was faster."""
        number = self._state.next
        done = self._change(next=number + 1, building=(*self._state.building, number))
        return number if done else None

    def _tidy(self, *, everything: bool = False) -> bool:
        """Delete merged segments that nobody reads any more, and what was left half written."""
        late = [number for number, since in self._state.doomed if self._clock() - since > _DOOMED]
        left = self._state.building if everything else ()
        if not self._change():  # it is ours now, or not
            return False
        for number in (*late, *left):
            self._store.drop(*blocks_of(number))
        if not late and not left:
            return True
        doomed = tuple(one for one in self._state.doomed if one[0] not in late)
        return self._change(doomed=doomed, building=() if everything else self._state.building)

    def _release(self) -> bool:
        new = self._state.changed(owner="", until=0.0)
        return self._store.change(self._state, new)

    def _change(self, folded: Sequence[Entry] = (), purged: Iterable[bytes] = (), **values: object) -> bool:
        new = self._state.changed(owner=self._owner, until=self._clock() + _HELD, **values)
        done = self._store.change(self._state, new, folded, purged)
        if done:
            self._state = new
        return done
