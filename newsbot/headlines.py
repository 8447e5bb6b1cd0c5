"""Headlines that a site has lately listed: the same one under another address is probably the same article.

Sites list an article anew under another address when they move it or edit its headline's slug. Such an item
is not left out, since "The weather for tomorrow" comes every day with other news: it is marked and downloaded
last.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b

from newsbot.frontier.base import Entry
from newsbot.items import Kind, Where
from newsbot.words import token_bytes

MAX_HEADLINES = 50_000
"""Headlines that a worker remembers, of all sites; some 10 MB."""
LEAST_WORDS = 4
"""Shorter ones ("Weather", "News in brief") say nothing."""
LAST = 1.0
"""The priority of what was listed under another address: behind all else."""
SAME_HEADLINE = "same headline"
_LISTS = (Where.FEED.value, Where.NEWS_SITEMAP.value)


class Headlines:
    """Headlines by site, each with the first address it was listed under; the longest unseen is forgotten."""

    def __init__(self, most: int = MAX_HEADLINES) -> None:
        self._most = most
        self._first: OrderedDict[bytes, tuple[bytes, str]] = OrderedDict()

    def weigh(self, entry: Entry) -> Entry:
        """Return the entry of a listed article, marked and with the least priority if its headline is known.

        Only items of feeds and news sitemaps are looked at that nobody asked for.
        """
        data = entry.data
        if entry.kind is not Kind.ARTICLE or data.get("where") not in _LISTS or data.get("force"):
            return entry
        words = token_bytes(data.get("title") or "")
        if len(words) < LEAST_WORDS:
            return entry
        key = blake2b(b" ".join((str(data["source"]).encode(), *words)), digest_size=12).digest()
        first, url = self._first.setdefault(key, (entry.fingerprint, entry.url))
        self._first.move_to_end(key)
        if len(self._first) > self._most:
            self._first.popitem(last=False)
        if first == entry.fingerprint:
            return entry
        return replace(entry, priority=LAST, data={**data, "why": f"{SAME_HEADLINE} as {url}"})
