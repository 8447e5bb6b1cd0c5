"""Headlines that a site has lately listed: the same one under another address is probably the same article.

Sites list an article anew under another address when they move it or edit its headline's slug. Such an item
is not left out, since "The weather for tomorrow" comes every day with other news: it is marked and downloaded
last. Where both items have a lead, the text below the headline, and the leads differ, it is other news.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import takewhile

from newsbot.frontier.base import Entry
from newsbot.items import Kind, Where
from newsbot.ranking.headline_table import PLACES, Address, HeadlineTable
from newsbot.text.words import token_bytes

MAX_ADDRESSES = 4
"""Addresses remembered of one headline; the latest stay."""
LEAST_WORDS = 4
"""Shorter ones ("Weather", "News in brief") say nothing."""
LAST = 1.0
"""The priority of what was listed under another address: behind all else."""
SAME_HEADLINE = "same headline"
_ELSEWHERE = f"{SAME_HEADLINE} as under another address"
_KNOWN = "same_headline"
"""Until it is named: key of the entry's data with the fingerprint of the earlier address."""
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
        return replace(entry, priority=LAST, data={**data, "why": _ELSEWHERE, _KNOWN: known.fingerprint})


def unnamed(entries: Iterable[Entry]) -> set[bytes]:
    """Return the fingerprints of the earlier addresses of those that are marked."""
    return {entry.data[_KNOWN] for entry in entries if _KNOWN in entry.data}


def name(entries: Iterable[Entry], urls: Mapping[bytes, str]) -> None:
    """Tell in those that are marked which address had the headline first, where it is known."""
    for entry in entries:
        known = entry.data.pop(_KNOWN, None)
        if known in urls:
            entry.data["why"] = f"{SAME_HEADLINE} as {urls[known]}"


def _fits(lead: int, other: int) -> bool:
    return not (lead and other) or lead == other


def _digest(*words: bytes) -> int:
    return int.from_bytes(blake2b(b" ".join(words), digest_size=8).digest(), "big") or 1
