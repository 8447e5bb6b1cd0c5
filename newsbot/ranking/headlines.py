"""Headlines that a site has lately listed: the same one under another address is probably the same article.

Sites list an article anew under another address when they move it or edit its headline's slug. Such an item
is not left out, since "The weather for tomorrow" comes every day with other news: it is marked and downloaded
last. Where both items have a lead, the text below the headline, and the leads differ, it is other news.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import takewhile

from newsbot.frontier.base import Entry
from newsbot.items import Kind, Reason, Where
from newsbot.text.words import token_bytes

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


MAX_ADDRESSES = 4
"""Addresses remembered of one headline; the latest stay."""
LEAST_WORDS = 4
"""Shorter ones ("Weather", "News in brief") say nothing."""
LAST = 1.0
"""The priority of what was listed under another address: behind all else."""
_LISTS = (Where.FEED.value, Where.NEWS_SITEMAP.value)


class Headlines:
    """Headlines by site, each with the addresses it was listed under; the longest unseen is forgotten."""

    def __init__(self, places: int = PLACES) -> None:
        self._table = HeadlineTable(places)

    def weigh(self, entry: Entry, lead: str | None = None) -> Entry:
        """Return the entry of a listed article, marked and with the least priority if it is known.

        It is if the site has listed its headline under another address, with the same lead or where one of
        both has no lead (news sitemaps have none). Only items of feeds and news sitemaps are looked at that
        nobody asked for. What is marked gets the other address by :func:`name`.
        """
        data = entry.data
        if entry.kind is not Kind.ARTICLE or data.get("where") not in _LISTS or data.get("force"):
            return entry
        words = token_bytes(data.get("title") or "")
        if len(words) < LEAST_WORDS:
            return entry
        key = _digest(str(data["source"]).encode(), *words)
        seen = self._table.addresses(key)
        own = _digest(*said) if (said := token_bytes(lead or "")) else 0
        own = own or next((one.lead for one in seen if one.fingerprint == entry.fingerprint), 0)
        earlier = takewhile(lambda one: one.fingerprint != entry.fingerprint, seen)
        known = next((one for one in earlier if _fits(own, one.lead)), None)
        self._table.put(key, Address(entry.fingerprint, own), MAX_ADDRESSES)
        if known is None:
            return entry
        return replace(
            entry,
            priority=LAST,
            data={**data, "why": Reason.SAME_HEADLINE.value, "same_headline": known.fingerprint},
        )


def unnamed(entries: Iterable[Entry]) -> set[bytes]:
    """Return the fingerprints of the earlier addresses of those that are marked."""
    return {entry.data["same_headline"] for entry in entries if "same_headline" in entry.data}


def name(entries: Iterable[Entry], urls: Mapping[bytes, str]) -> None:
    """Add to the reason of those that are marked which address had the headline first, if it is known."""
    for entry in entries:
        known = entry.data.pop("same_headline", None)
        if known is not None and known in urls:
            entry.data["why"] = f"{Reason.SAME_HEADLINE}:{urls[known]}"


def _fits(lead: int, other: int) -> bool:
    return not (lead and other) or lead == other


def _digest(*words: bytes) -> int:
    return int.from_bytes(blake2b(b" ".join(words), digest_size=8).digest(), "big") or 1
