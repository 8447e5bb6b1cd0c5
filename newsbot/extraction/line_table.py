"""Lines with their articles in little memory: 24 bytes a line, where a dictionary of bytes takes 190.

A crawler keeps thousands of lines of each of many sites, and for all of its time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

import numpy as np

SIZE = 8
"""Bytes of the digest of a line, and of an article."""
_LONG = 16


class LineTable:
    """Marks of lines, each with up to two articles, in the order in which they were met last.

    A mark is :data:`SIZE` bytes, and one more byte for a long line; the articles are digests side by side.
    """

    def __init__(self) -> None:
        self._marks = array("Q")
        """In order, so that a line is found by halving."""
        self._first = array("Q")
        self._second: dict[int, int] = {}
        """By mark, for the few lines that have two articles and not yet more."""
        self._kinds = array("B")
        """How many articles, and whether the line is long."""
        self._met = array("I")
        """When a line was met last: the larger the later."""
        self._now = 0

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self._marks)

    def get(self, mark: bytes) -> bytes | None:
        """Return the articles of a line; None for one that is not there."""
        number = int.from_bytes(mark[:SIZE], "big")
        at = bisect_left(self._marks, number)
        found = at < len(self._marks) and self._marks[at] == number
        return self._articles(at) if found else None

    def put(self, mark: bytes, articles: bytes, *, met: bool) -> None:
        """Note the articles of a line; one that is new, or that was ``met`` just now, becomes the latest."""
        number = int.from_bytes(mark[:SIZE], "big")
        first, second = (int.from_bytes(articles[at : at + SIZE], "big") for at in (0, SIZE))
        kind = len(articles) // SIZE + (_LONG if len(mark) > SIZE else 0)
        at = bisect_left(self._marks, number)
        if at < len(self._marks) and self._marks[at] == number:
            self._first[at], self._kinds[at] = first, kind
            self._note_second(number, kind, second)
            if met:
                self._met[at] = self._next()
            return
        now = self._next()
        columns = (self._marks, self._first, self._kinds, self._met)
        for column, value in zip(columns, (number, first, kind, now), strict=True):
            column.insert(at, value)
        self._note_second(number, kind, second)

    def _note_second(self, mark: int, kind: int, article: int) -> None:
        if kind & ~_LONG == 2:
            self._second[mark] = article
        else:
            self._second.pop(mark, None)

    def latest(self) -> list[tuple[bytes, bytes]]:
        """Return marks and articles, the lines that were met last first."""
        return [(self._mark(at), self._articles(at)) for at in np.argsort(np.array(self._met))[::-1].tolist()]

    def forget(self, most: int) -> None:
        """Let go of the lines that were not met for longest until only ``most`` are left."""
        over = len(self) - most
        if over <= 0:
            return
        order = np.argsort(np.array(self._met))
        for at in order[:over].tolist():
            self._second.pop(self._marks[at], None)
        kept = np.sort(order[over:])
        self._marks, self._first, self._kinds, self._met = (
            array(column.typecode, np.array(column)[kept].tobytes())
            for column in (self._marks, self._first, self._kinds, self._met)
        )

    def _next(self) -> int:
        self._now += 1
        if self._now >= 1 << 32:  # after 25 days of 2,000 lines a second
            order = np.argsort(np.argsort(np.array(self._met)))
            self._met = array("I", order.astype(np.uint32).tobytes())
            self._now = len(self._met)
        return self._now

    def _mark(self, at: int) -> bytes:
        return self._marks[at].to_bytes(SIZE, "big") + (b"+" if self._kinds[at] & _LONG else b"")

    def _articles(self, at: int) -> bytes:
        articles = self._kinds[at] & ~_LONG
        second = self._second[self._marks[at]] if articles == 2 else 0
        both = self._first[at].to_bytes(SIZE, "big") + second.to_bytes(SIZE, "big")
        return both[: SIZE * articles]
