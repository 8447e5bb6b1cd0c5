"""Decisions of users about sites and pages: pauses, and removals (``scrapy remove``).

Both are notes in the storage, so that they apply to all workers and after restarts. The URLs of a paused site
are not leased until a user resumes the site. Requests in flight are completed. Queued URLs stay in the queue.

Removed URLs and domains are not collected again. There is one note for each removed URL or domain. A crawl
reads the notes every 10 seconds. It rejects links to removed pages and does not fetch queued URLs of removed
pages. An article with a removed URL is not stored even if it was found under another URL or imported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from newsbot.clock import Clock
from newsbot.dedup.index import NearIndex, signature
from newsbot.errors import DataError
from newsbot.items import Article
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint, host_key

PAUSED: Final = "paused"
"""The kind of the notes. The key is the domain."""


def paused(storage: Notes) -> dict[str, float]:
    """Return the paused domains, each with the time of its pause (POSIX seconds)."""
    return {domain: _since(note.get("at")) for domain, note in storage.all(PAUSED).items()}


def pause(storage: Notes, domain: str, now: float) -> None:
    """Pause a site at ``now`` (POSIX seconds). If it is already paused, nothing changes."""
    if domain not in storage.all(PAUSED):
        storage.save(PAUSED, domain, {"at": now})


def go_on(storage: Notes, domain: str) -> bool:
    """Resume a site. Return False if it was not paused."""
    return storage.forget(PAUSED, domain)


def _since(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


REMOVED = "removed"
"""The kind of the notes, and the reason for pages that were not collected."""
REFRESH = 10.0
"""Seconds after which a running crawl reads the notes again."""
OF_DOMAIN = "domain:"


class RemovalNotes:
    """The notes in memory, for fast checks during a crawl."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._urls: frozenset[bytes] = frozenset()
        self._domains: frozenset[str] = frozenset()
        self._next = 0.0

    def read(self, notes: Notes) -> None:
        """Read all notes. Raises :class:`DataError`."""
        kept = notes.all(REMOVED)
        self._domains = frozenset(key.removeprefix(OF_DOMAIN) for key in kept if key.startswith(OF_DOMAIN))
        self._urls = frozenset(fingerprint(key) for key in kept if not key.startswith(OF_DOMAIN))
        self._next = self._clock() + REFRESH

    def refresh(self, notes: Notes) -> None:
        """Read the notes, at most every :data:`REFRESH` seconds.

        While the storage is unavailable, the notes from the last successful read are used.
        """
        if self._clock() >= self._next:
            # set before reading, so that the next attempt is delayed even if reading fails
            self._next = self._clock() + REFRESH
            try:
                self.read(notes)
            except DataError:  # the outage has already been logged
                return

    def covers_site(self, domain: str) -> bool:
        """Return True if the whole site with this domain was removed."""
        return bool(self._domains) and within(domain, self._domains)

    def covers(self, key: bytes, host: str) -> bool:
        """Return True if the URL with this fingerprint and host was removed, alone or with its domain."""
        if not self._urls and not self._domains:
            return False
        return key in self._urls or within(host, self._domains)


def within(host: str, domains: frozenset[str]) -> bool:
    """Return True if the host is one of the domains or a subdomain of one of the domains."""
    name = host.partition(":")[0].lower()
    while name:
        if name in domains:
            return True
        name = name.partition(".")[2]
    return False


MOST = 20_000
"""Maximum number of articles that :class:`LateArrivals` remembers. A worker stores fewer articles between two
reads of the notes."""
IsOut = Callable[[bytes, str], bool]
"""Takes a URL's fingerprint and host; returns True if the URL was removed."""


def addresses_of(article: Article) -> list[str]:
    """Return the canonical URLs of an article. The article is stored under the first URL."""
    urls = (article.canonical_url, canonicalize(article.url), canonicalize(article.fetched_url))
    return list(dict.fromkeys(urls))


def is_out(article: Article, covers: IsOut) -> bool:
    """Return True if the fetched or the canonical URL of an article was removed."""
    return any(covers(fingerprint(url), host_key(url)) for url in addresses_of(article))


def forget_texts(index: NearIndex, canonical_urls: Sequence[str], at: float) -> None:
    """Remove the texts of these articles from the near-duplicate index at ``at`` (POSIX seconds).

    The index has no operation that removes a text. Instead, an empty text is inserted under the same id. It
    replaces the old text, and it is not stored itself, because an empty text cannot be compared.
    """
    for url in canonical_urls:
        index.check_and_insert(url, "", signature(""), at)


class LateArrivals:
    """The articles that one worker has stored since it last read the notes.

    A user may have removed some of these articles in the meantime. Removed articles are deleted after the
    next read of the notes.
    """

    def __init__(self) -> None:
        self._stored: deque[list[str]] = deque(maxlen=MOST)

    def stored(self, article: Article) -> None:
        """Remember an article whose content, or one of whose URLs, was stored."""
        self._stored.append(addresses_of(article))

    def take_out(self, covers: IsOut, storage: Storage, index: NearIndex, at: float) -> int:
        """Delete the removed articles and their pages. Return the number of their URLs.

        ``covers`` must use notes that were just read. ``at`` is in POSIX seconds. Raises
        :class:`newsbot.errors.DataError`. In this case, the articles are still remembered.
        """
        gone = [
            url
            for addresses in self._stored
            if any(covers(fingerprint(url), host_key(url)) for url in addresses)
            for url in addresses
            if (kept := storage.articles.get(url)) is None
            or is_out(kept, covers)  # otherwise another article has since been stored under the URL
        ]
        if gone:
            forget_texts(index, gone, at)
            taker = storage.removal
            taker.articles(gone)
            taker.pages([fingerprint(url) for url in gone])
        self._stored.clear()
        return len(gone)
