"""Log-odds of addresses met lately, in memory that is the same from the first address to the last.

Pages of a site share most of their links, so what was computed once is asked for again soon. A dictionary of
addresses takes 270 bytes an entry and grows for hours; this table takes 8 bytes a place, and a place that is
taken goes to whoever comes last.
"""

from __future__ import annotations

from array import array

PLACES = 1 << 16
_TAG_BITS = 40
_TAGS = (1 << _TAG_BITS) - 1
_STEPS = 1000
"""Parts of one that are told apart."""
_MIDDLE = 1 << 23
_LARGEST = (_MIDDLE - 1) / _STEPS


class OddsTable:
    """Numbers by the hash of what they belong to.

    Each is one machine word: 40 bits of the hash, and the number in thousandths in 24. Threads may share a
    table: a word is read and written whole. With the bits that choose the place two addresses are taken for
    one in 2^55 questions or fewer, and the odds of a link are then those of another one.
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a power of two."""
        self._mask = places - 1
        self._shift = self._mask.bit_length()
        self._words = array("Q", bytes(8 * places))

    def get(self, mark: int) -> float | None:
        """Return the number under a hash (of Python's ``hash``); None if it is not there any more."""
        word = self._words[mark & self._mask]
        if not word or (word >> 24) != (mark >> self._shift) & _TAGS:
            return None
        return ((word & 0xFFFFFF) - _MIDDLE) / _STEPS

    def put(self, mark: int, odds: float) -> float:
        """Keep a number; return it as :meth:`get` will, rounded to a thousandth."""
        number = round(max(-_LARGEST, min(_LARGEST, odds)) * _STEPS)
        self._words[mark & self._mask] = ((mark >> self._shift) & _TAGS) << 24 | (number + _MIDDLE)
        return number / _STEPS

    def __len__(self) -> int:
        """Return how many places there are."""
        return len(self._words)

    def clear(self) -> None:
        """Forget all."""
        self._words = array("Q", bytes(8 * len(self._words)))
