"""Reads what the storage knows of leased pages, for all of them as soon as the first one needs it.

A worker holds some 32 leases. If each visit read its own record, it would take one query a page.

Only the worker that holds the lease of a page writes the results of a visit. But what was read can be out of
date if another page names the same article. So it only saves work: keys of records are unique, and a store
that finds another article under its URL is refused (:class:`newsbot.storage.article_decision.Verdict`), and
looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from newsbot.items import Bounded

MAX_READ = 1000
"""Maximum number of leased pages of which the results are kept."""
_Known = TypeVar("_Known")


class ReadAhead(Generic[_Known]):
    """Results of ``read``, which returns what the storage has under some keys."""

    def __init__(self, read: Callable[[list[bytes]], Mapping[bytes, _Known]]) -> None:
        self._read = read
        self._expected: dict[bytes, None] = {}
        self._known = Bounded[bytes, _Known | None](MAX_READ)

    def expect(self, key: bytes) -> None:
        """Read this key together with the others."""
        self._known.pop(key, None)
        self._expected[key] = None

    def get(self, key: bytes) -> _Known | None:
        """Return what the storage has under a key; None if it has nothing.

        Raises :class:`newsbot.errors.DataError`.
        """
        if key in self._known:
            return self._known[key]
        keys = list(self._expected) if key in self._expected else [key]
        found = self._read(keys)
        for each in keys:
            self._known[each] = found.get(each)
            self._expected.pop(each, None)
        return found.get(key)  # of more than MAX_READ keys, the first are not kept

    def forget(self, key: bytes) -> None:
        """Forget a key, so that the next :meth:`get` reads it anew."""
        self._expected.pop(key, None)
        self._known.pop(key, None)
