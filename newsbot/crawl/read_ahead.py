"""Reads the records of all leased pages with one query, when the first of them is needed.

A worker holds some 32 leases. If each visit read its own record, it would take one query a page.

Only the worker that holds the lease of a page writes the results of a visit. But a result may be outdated if
another page names the same article. So it never decides what is stored: keys of records are unique. If
another article is stored under the URL in the meantime, the write is refused
(:class:`newsbot.storage.articles.Verdict`), and the caller reads again.
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
        return found.get(key)  # not from _known, which drops the first of more than MAX_READ keys

    def forget(self, key: bytes) -> None:
        """Forget a key, so that the next :meth:`get` reads it anew."""
        self._expected.pop(key, None)
        self._known.pop(key, None)
