"""What was taken out and must stay out: one note for each URL or domain (``scrapy remove``).

A crawl reads them every few seconds: a link to such a page is rejected, one that is queued is not fetched,
and an article that comes all the same, under another address or from a file, is not stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from newsbot.clock import Clock
from newsbot.dedup.index import NearIndex
from newsbot.dedup.minhash import signature
from newsbot.errors import DataError
from newsbot.items import Article
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint, host_key

REMOVED = "removed"
"""The kind of the notes, and the reason why something was not collected."""
REFRESH = 10.0
"""Seconds after which a crawl that runs knows what was taken out."""
_DOMAIN = "domain:"


class RemovalNotes:
    """The notes as a crawl needs them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._urls: frozenset[bytes] = frozenset()
        self._domains: frozenset[str] = frozenset()
        self._next = 0.0

    def read(self, notes: Notes) -> None:
        """Read them all. Raises :class:`DataError`."""
        kept = notes.all(REMOVED)
        self._domains = frozenset(key.removeprefix(_DOMAIN) for key in kept if key.startswith(_DOMAIN))
        self._urls = frozenset(fingerprint(key) for key in kept if not key.startswith(_DOMAIN))
        self._next = self._clock() + REFRESH

    def refresh(self, notes: Notes) -> None:
        """Read them if it is time; while the data are away the last ones hold."""
        if self._clock() >= self._next:
            self._next = self._clock() + REFRESH
            try:
                self.read(notes)
            except DataError:  # the outage tells it
                return

    def covers_site(self, domain: str) -> bool:
        """Return True for a site of which nothing is to be kept."""
        return bool(self._domains) and within(domain, self._domains)

    def covers(self, key: bytes, host: str) -> bool:
        """Return True for a URL, given by its fingerprint and host, that is to stay out."""
        if not self._urls and not self._domains:
            return False
        return key in self._urls or within(host, self._domains)


def within(host: str, domains: frozenset[str]) -> bool:
    """Return True if the host is one of the domains, or below one."""
    name = host.partition(":")[0].lower()
    while name:
        if name in domains:
            return True
        name = name.partition(".")[2]
    return False


def keep_out(notes: Notes, *, urls: list[str], domain: str | None, at: float, reason: str) -> None:
    """Note that these (canonical URLs, or one domain) are to stay out."""
    note: dict[str, Any] = {"at": at, **({"reason": reason} if reason else {})}
    for key in [*urls, *([_DOMAIN + domain] if domain else [])]:
        notes.save(REMOVED, key, note)


def allow_again(notes: Notes, what: str) -> bool:
    """Let a URL or a domain be collected again; False if it was not kept out."""
    keys = [_DOMAIN + what.lower(), what]
    with suppress(ValueError):  # a domain is no URL
        keys.append(canonicalize(what))
    told = [notes.forget(REMOVED, key) for key in dict.fromkeys(keys)]
    return any(told)


def removal_of(notes: Notes, key: bytes, host: str) -> tuple[str, dict[str, Any]] | None:
    """Return what keeps a URL out (the URL or a domain) with its note, None if nothing does."""
    for what, note in buried(notes):
        is_url = "://" in what
        if (is_url and fingerprint(what) == key) or (not is_url and within(host, frozenset((what,)))):
            return what, note
    return None


def buried(notes: Notes) -> list[tuple[str, dict[str, Any]]]:
    """Return what is kept out, domains and URLs, the latest first, each with its note."""
    kept = notes.all(REMOVED).items()
    return sorted(
        ((key.removeprefix(_DOMAIN), note) for key, note in kept), key=lambda one: (-one[1]["at"], one[0])
    )


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


class LateArrivals:
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
