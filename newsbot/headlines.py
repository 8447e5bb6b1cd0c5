"""Headlines that a site has lately listed: the same one under another address is probably the same article.

Sites list an article anew under another address when they move it or edit its headline's slug. Such an item
is not left out, since "The weather for tomorrow" comes every day with other news: it is marked and downloaded
last. Where both items have a lead, the text below the headline, and the leads differ, it is other news.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any

from newsbot.frontier.base import Entry
from newsbot.items import Kind, Where
from newsbot.words import token_bytes

MAX_HEADLINES = 50_000
"""Headlines that a worker remembers, of all sites; 13 MB where each has one address."""
MAX_ADDRESSES = 4
"""Addresses remembered of one headline; the latest stay."""
LEAST_WORDS = 4
"""Shorter ones ("Weather", "News in brief") say nothing."""
LAST = 1.0
"""The priority of what was listed under another address: behind all else."""
SAME_HEADLINE = "same headline"
_LISTS = (Where.FEED.value, Where.NEWS_SITEMAP.value)

_SHARE = 64
_DIGEST = 12
_KEY = 16  # bytes of a fingerprint
_MAX_URL = 2048

_Seen = dict[bytes, tuple[str, bytes]]
"""Addresses by fingerprint in the order they came, each with the digest of its lead; empty: none was seen."""


class Headlines:
    """Headlines by site, each with the addresses it was listed under; the longest unseen is forgotten."""

    def __init__(self, most: int = MAX_HEADLINES) -> None:
        self._most = most
        self._seen: dict[bytes, bytes] = {}
        """Addresses as :func:`_packed` writes them, the headline that was seen last at the end."""

    def weigh(self, entry: Entry, lead: str | None = None) -> Entry:
        """Return the entry of a listed article, marked and with the least priority if it is known.

        It is if the site has listed its headline under another address, with the same lead or where one of
        both has no lead (news sitemaps have none). Only items of feeds and news sitemaps are looked at that
        nobody asked for.
        """
        data = entry.data
        if entry.kind is not Kind.ARTICLE or data.get("where") not in _LISTS or data.get("force"):
            return entry
        words = token_bytes(data.get("title") or "")
        if len(words) < LEAST_WORDS:
            return entry
        key = _digest(str(data["source"]).encode(), *words)
        seen = dict(_unpacked(self._seen.pop(key, b"")))
        own = _digest(*said) if (said := token_bytes(lead or "")) else b""
        _url, before = seen.get(entry.fingerprint, ("", b""))
        own = own or before
        earlier = takewhile(lambda one: one[0] != entry.fingerprint, seen.items())
        known = next((url for _one, (url, other) in earlier if _fits(own, other)), None)
        _remember(seen, entry, own)
        self._seen[key] = _packed(seen)
        self._forget()
        if known is None:
            return entry
        marked: dict[str, Any] = {**data, "why": f"{SAME_HEADLINE} as {known}"}
        return replace(entry, priority=LAST, data=marked)

    def _forget(self) -> None:
        """Let go of those not seen for longest, some at once: a dictionary finds its first one slowly."""
        if len(self._seen) > self._most:
            for key in list(islice(self._seen, 1 + self._most // _SHARE)):
                del self._seen[key]


def _fits(lead: bytes, other: bytes) -> bool:
    return not (lead and other) or lead == other


def _remember(seen: _Seen, entry: Entry, lead: bytes) -> None:
    if entry.fingerprint not in seen and len(seen) >= MAX_ADDRESSES:
        del seen[next(iter(seen))]
    seen[entry.fingerprint] = (entry.url, lead)


def _digest(*words: bytes) -> bytes:
    return blake2b(b" ".join(words), digest_size=_DIGEST).digest()


def _packed(seen: _Seen) -> bytes:
    """Return addresses as one piece of bytes, a third of what they take as objects."""
    parts = []
    for key, (url, lead) in seen.items():
        written = url.encode("utf-8", "surrogatepass")[:_MAX_URL]
        parts += [key, bytes([len(lead)]), lead, len(written).to_bytes(2, "big"), written]
    return b"".join(parts)


def _unpacked(packed: bytes) -> Iterator[tuple[bytes, tuple[str, bytes]]]:
    at = 0
    while at < len(packed):
        lead = at + _KEY + 1
        length = lead + packed[lead - 1]
        url = length + 2
        end = url + int.from_bytes(packed[length:url], "big")
        yield packed[at : at + _KEY], (packed[url:end].decode("utf-8", "replace"), packed[lead:length])
        at = end
