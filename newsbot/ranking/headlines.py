"""Finds feed items whose headline the site has recently listed under another URL.

Such an item is probably the same article: sites list an article again when they move it or change the slug in
its URL. The item is not dropped, because a headline such as "The weather for tomorrow" occurs every day with
different news. It is marked and downloaded after the site's other articles. If both items have a lead (the
text below the headline) and the leads differ, the item is a new article.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import takewhile

from newsbot.frontier.base import Entry
from newsbot.items import GivenBy, Kind, Reason, Where
from newsbot.pages.text.words import token_bytes

PLACES = 65_536
"""Maximum number of URLs of all headlines; they take 3.1 MB. Each URL takes one *place* of the table. Places
are grouped in buckets, and some buckets fill up before others. Therefore 2 % of 50,000 headlines are removed
too early."""
SHELF = 16
"""Number of places in a bucket. The key of a headline selects the bucket of all its URLs."""
_HALF = 8  # length of a machine word in bytes; a word holds half a fingerprint


@dataclass(frozen=True, slots=True)
class Address:
    """A URL under which a headline was listed."""

    fingerprint: bytes
    lead: int
    """Digest of the lead (the text below the headline); 0 if there was none."""


class HeadlineTable:
    """Maps each headline to the URLs under which it was listed.

    The key of a headline is a 64-bit number that is not 0. If a bucket is full, the URL of the least recently
    seen headline is replaced.
    """

    def __init__(self, places: int = PLACES) -> None:
        """Create an empty table for ``places`` URLs, a multiple of :data:`SHELF`."""
        # arrays of machine words take 48 bytes for each URL; objects would take several times as much
        self._shelves = places // SHELF
        self._keys = array("Q", bytes(8 * places))
        """For each place: the key of the headline; 0 if the place is free."""
        self._first, self._second, self._leads, self._came, self._seen = (self._keys[:] for _ in range(5))
        """For each place: the halves of the fingerprint, the lead, the time when the URL was added, and the
        time when its headline was last seen."""
        self._now = 0
        """The number of calls of :meth:`put`. It is the clock for the times of places."""

    def __len__(self) -> int:
        """Return the number of URLs."""
        return sum(map(bool, self._keys))

    def addresses(self, key: int) -> list[Address]:
        """Return the URLs of a headline, oldest first."""
        return [
            Address(self._first[at].to_bytes(_HALF, "big") + self._second[at].to_bytes(_HALF, "big"), lead)
            for at, lead in ((at, self._leads[at]) for at in self._places(key))
        ]

    def put(self, key: int, address: Address, most: int) -> None:
        """Store a URL, or the new lead of a known URL, and mark the headline as seen.

        Only the latest ``most`` URLs of each headline are kept.
        """
        self._now += 1
        places = self._places(key)
        # All URLs of a headline get the same time, so that no URL of the headline is removed before another.
        for at in places:
            self._seen[at] = self._now
        halves = tuple(int.from_bytes(address.fingerprint[half:][:_HALF], "big") for half in (0, _HALF))
        known = [at for at in places if (self._first[at], self._second[at]) == halves]
        if known:
            self._leads[known[0]] = address.lead
            return
        # The oldest URL of this headline is replaced, so that other headlines keep their URLs.
        at = places[0] if len(places) >= most else self._room(key)
        self._keys[at], (self._first[at], self._second[at]), self._leads[at] = key, halves, address.lead
        self._came[at] = self._seen[at] = self._now

    def _places(self, key: int) -> list[int]:
        """Return the places of a headline's URLs, oldest first."""
        begin = key % self._shelves * SHELF
        shelf = self._keys[begin : begin + SHELF]
        if key not in shelf:
            return []
        found = [begin + at for at, held in enumerate(shelf) if held == key]
        return sorted(found, key=self._came.__getitem__)

    def _room(self, key: int) -> int:
        """Return a free place. If no place is free, return a place of the least recently seen headline."""
        begin = key % self._shelves * SHELF
        # A free place has the time 0, so it is found first.
        return min(range(begin, begin + SHELF), key=self._seen.__getitem__)


MAX_ADDRESSES = 4
"""Maximum number of URLs that are stored for one headline. The latest URLs are kept."""
LEAST_WORDS = 4
"""Minimum number of words of a headline that is checked. Shorter headlines ("News in brief") do not identify
an article."""
LAST = 39.8
"""Priority of items whose headline was listed before under another URL.

They are fetched after all other articles that the site lists, and before everything that may not be an
article (see the table in :mod:`newsbot.ranking.judging`).
"""
_LISTS = (Where.FEED.value, Where.NEWS_SITEMAP.value)


class Headlines:
    """The recent headlines of all sites, each with its URLs. The least recently seen headlines are
    removed."""

    def __init__(self, places: int = PLACES) -> None:
        self._table = HeadlineTable(places)

    def weigh(self, entry: Entry, lead: str | None = None) -> Entry:
        """Return the entry. If its headline is known, it gets a mark and a low priority.

        A headline is known if the site has listed it under another URL before. If both items have a lead and
        the leads differ, the headline counts as new. Items of news sitemaps have no lead. Only items of feeds
        and news sitemaps are checked, and only if the site itself lists them and no user requested them.
        ``lead`` is the text below the headline. The mark is ``same_headline`` in the entry's data.
        :func:`name` replaces the mark with the other URL.
        """
        data = entry.data
        if entry.kind is not Kind.ARTICLE or data.get("where") not in _LISTS or data.get("force"):
            return entry
        if not GivenBy.of(data).counts_for(data["source"]):
            return entry
        words = token_bytes(data.get("title") or "")
        if len(words) < LEAST_WORDS:
            return entry
        key = _digest(str(data["source"]).encode(), *words)
        seen = self._table.addresses(key)
        own = _digest(*said) if (said := token_bytes(lead or "")) else 0
        # an item of a news sitemap has no lead, so the lead in a feed's item with the same URL is used
        own = own or next((one.lead for one in seen if one.fingerprint == entry.fingerprint), 0)
        # Only URLs that were listed earlier count. Otherwise the first URL of an article would be marked when
        # the feed is read again.
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
    """Return the fingerprints of the URLs under which the marked entries' headlines were first listed."""
    return {entry.data["same_headline"] for entry in entries if "same_headline" in entry.data}


def name(entries: Iterable[Entry], urls: Mapping[bytes, str]) -> None:
    """Add the first URL of the headline to the reason of each marked entry. Remove the mark.

    ``urls`` maps fingerprints to URLs. If it does not contain the fingerprint, the reason is not changed.
    """
    for entry in entries:
        known = entry.data.pop("same_headline", None)
        if known is not None and known in urls:
            entry.data["why"] = f"{Reason.SAME_HEADLINE}:{urls[known]}"


def _fits(lead: int, other: int) -> bool:
    # if one of the leads is missing, the headline alone decides
    return not (lead and other) or lead == other


def _digest(*words: bytes) -> int:
    """Return a 64-bit number for words. It is never 0, because 0 means a free place or no lead."""
    return int.from_bytes(blake2b(b" ".join(words), digest_size=8).digest(), "big") or 1
