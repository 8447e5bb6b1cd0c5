"""Headlines with their addresses in memory that is the same from the first to the last: 48 bytes an address.

A dictionary takes 255 bytes an address, in small pieces that stay between those that come and go, and fills
for hours. Here a headline has a shelf by its digest, and each shelf has places for 16 addresses.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

PLACES = 65_536
"""Addresses of all headlines, 3.1 MB. Some shelves fill first: of 50,000 headlines 2 % go early."""
SHELF = 16
_HALF = 8  # bytes of a machine word, half a fingerprint


@dataclass(frozen=True, slots=True)
class Address:
    """Where a headline was listed."""

    fingerprint: bytes
    lead: int
    """Digest of the text below the headline; 0: none was seen."""


class HeadlineTable:
    """Addresses by headline (a number of 64 bits, not 0). What was not seen for longest makes room."""

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a multiple of :data:`SHELF`."""
        self._shelves = places // SHELF
        self._keys = array("Q", bytes(8 * places))
        """The headline in each place; 0: the place is free."""
        self._first, self._second, self._leads, self._came, self._seen = (self._keys[:] for _ in range(5))
        """Halves of the fingerprint, the lead, when the address came, when its headline was seen last."""
        self._now = 0

    def __len__(self) -> int:
        """Return how many addresses there are."""
        return sum(map(bool, self._keys))

    def addresses(self, key: int) -> list[Address]:
        """Return the addresses of a headline in the order in which they came."""
        return [
            Address(self._first[at].to_bytes(_HALF, "big") + self._second[at].to_bytes(_HALF, "big"), lead)
            for at, lead in ((at, self._leads[at]) for at in self._places(key))
        ]

    def put(self, key: int, address: Address, most: int) -> None:
        """Note an address, or its lead; the headline has been seen, its ``most`` latest addresses stay."""
        self._now += 1
        places = self._places(key)
        for at in places:
            self._seen[at] = self._now
        halves = tuple(int.from_bytes(address.fingerprint[half:][:_HALF], "big") for half in (0, _HALF))
        known = [at for at in places if (self._first[at], self._second[at]) == halves]
        if known:
            self._leads[known[0]] = address.lead
            return
        at = places[0] if len(places) >= most else self._room(key)
        self._keys[at], (self._first[at], self._second[at]), self._leads[at] = key, halves, address.lead
        self._came[at] = self._seen[at] = self._now

    def _places(self, key: int) -> list[int]:
        """Where the addresses of a headline stand, in the order in which they came."""
        begin = key % self._shelves * SHELF
        shelf = self._keys[begin : begin + SHELF]
        if key not in shelf:
            return []
        found = [begin + at for at, held in enumerate(shelf) if held == key]
        return sorted(found, key=self._came.__getitem__)

    def _room(self, key: int) -> int:
        """A free place, else that of the headline that was not seen for longest."""
        begin = key % self._shelves * SHELF
        return min(range(begin, begin + SHELF), key=self._seen.__getitem__)
