"""What was taken out and is to stay out: one note for each URL or domain (``scrapy remove``).

A crawl reads them every few seconds: a link to such a page is rejected, one that is queued is not fetched,
and an article that comes all the same, under another address or from a file, is not stored.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from newsbot.clock import Clock
from newsbot.errors import DataError
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint

REMOVED = "removed"
"""The kind of the notes, and the reason why something was not collected."""
REFRESH = 10.0
"""Seconds after which a crawl that runs knows what was taken out."""
_DOMAIN = "domain:"


class Tombstones:
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


def bury(notes: Notes, *, urls: list[str], domain: str | None, at: float, reason: str) -> None:
    """Note that these (canonical URLs, or one domain) are to stay out."""
    note: dict[str, Any] = {"at": at, **({"reason": reason} if reason else {})}
    for key in [*urls, *([_DOMAIN + domain] if domain else [])]:
        notes.save(REMOVED, key, note)


def exhume(notes: Notes, what: str) -> bool:
    """Let a URL or a domain be collected again; False if it was not kept out."""
    keys = [_DOMAIN + what.lower(), what]
    with suppress(ValueError):  # a domain is no URL
        keys.append(canonicalize(what))
    told = [notes.forget(REMOVED, key) for key in dict.fromkeys(keys)]
    return any(told)


def tombstone_of(notes: Notes, key: bytes, host: str) -> tuple[str, dict[str, Any]] | None:
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
