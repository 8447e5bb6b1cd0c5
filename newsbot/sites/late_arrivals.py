"""Articles that were on their way while somebody took them out: they go again.

``scrapy remove`` first notes what is to stay out, and deletes then; a worker knows the notes for some seconds
only. So a worker remembers what it has stored lately. Whenever it reads the notes it looks through what it
stored before that moment: of the note and the article one was written first, and whoever came second sees
the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from newsbot.dedup.index import NearIndex
from newsbot.dedup.minhash import signature
from newsbot.items import Article
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint, host_key

MOST = 20_000
"""Articles that are remembered: a worker stores fewer between two readings of the notes."""
IsOut = Callable[[bytes, str], bool]
"""Tells of a URL, by its fingerprint and its host, whether it is to stay out."""


def addresses_of(article: Article) -> list[str]:
    """Return the canonical addresses of an article, first the one that it is kept under."""
    return list(dict.fromkeys((article.canonical_url, canonicalize(article.url))))


def is_out(article: Article, covers: IsOut) -> bool:
    """Return True for an article that is to stay out, under the fetched address or the canonical one."""
    return any(covers(fingerprint(url), host_key(url)) for url in addresses_of(article))


def forget_texts(index: NearIndex, canonical_urls: Sequence[str], at: float) -> None:
    """Take texts out of the near-duplicate index.

    A text that is not comparable takes the place of the one under the same id, and is not kept.
    """
    for url in canonical_urls:
        index.check_and_insert(url, "", signature(""), at)


class Latecomers:
    """What one worker has stored lately."""

    def __init__(self) -> None:
        self._stored: deque[list[str]] = deque(maxlen=MOST)

    def stored(self, article: Article) -> None:
        """Remember an article that was stored, or whose address was."""
        self._stored.append(addresses_of(article))

    def take_out(self, covers: IsOut, storage: Storage, index: NearIndex, at: float) -> int:
        """Delete those that are to stay out, by notes that were read just now; return how many addresses.

        Raises :class:`newsbot.errors.DataError`; nothing is forgotten then.
        """
        gone = [
            url
            for addresses in self._stored
            if any(covers(fingerprint(url), host_key(url)) for url in addresses)
            for url in addresses
            if (kept := storage.articles.get(url)) is None
            or is_out(kept, covers)  # else another page's by now
        ]
        if gone:
            forget_texts(index, gone, at)
            taker = storage.removal
            taker.articles(gone)
            taker.pages([fingerprint(url) for url in gone])
        self._stored.clear()
        return len(gone)
