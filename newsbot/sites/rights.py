"""Reservations against use by AI for all pages of a host, and a cache of the files that state them.

These files are robots.txt and tdmrep.json. The workers together fetch them once a day from each host. One
file is kept for both http and https. RFC 9309 distinguishes the two schemes, but in practice the files are
the same. The files are stored compressed in the notes of each host (:func:`newsbot.urls.host_key`).
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from scrapy.http import Response

from newsbot.errors import DataError
from newsbot.items import Bounded
from newsbot.pages.rights import LICENSE, Licence, Reservations, RobotsSignals
from newsbot.storage.notes import NoteName, Notes
from newsbot.urls import host_key

KEEP_SECONDS = 24 * 3600.0  # the longest time that RFC 9309, 2.4 recommends
KEEP_UNREAD_SECONDS = 3600.0
"""Seconds before a file that could not be read is requested again."""
MAX_BYTES = 1 << 20
"""Maximum size of a stored file in bytes."""
NOTE_KIND = "files of "
ROBOTS = "robots.txt"
"""The name of a stored robots.txt. A tdmrep.json is stored under :data:`newsbot.pages.rights.PATH`."""
LICENCE = "licence"
"""The name of the stored licence of a host (RSL)."""


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file. ``body`` is None if the host does not have it; ``expires`` is in POSIX seconds."""

    body: bytes | None
    expires: float
    unread: bool = False
    """True if the file could not be read, so it is not known whether the host has it."""


def robots_name(url: str) -> NoteName:
    """Return the kind and key of the note with the robots.txt of a URL's host."""
    return NOTE_KIND + host_key(url), ROBOTS


def kept_file(notes: Notes, host: str, name: str, now: float) -> HostFile | None:
    """Return a file of a host if it was fetched less than a day before ``now`` (POSIX seconds), else None.

    ``host`` is a :func:`newsbot.urls.host_key`. While the storage is unavailable, None is returned too.
    """
    # errors that are raised for a note that is missing, damaged or from another version
    with suppress(DataError, KeyError, TypeError, ValueError, zlib.error):
        stored = (NOTE_KIND + host, name)
        note = notes.get_many([stored])[stored]
        at, packed, unread = float(note["at"]), note["body"], bool(note.get("unread"))
        keep = KEEP_UNREAD_SECONDS if unread else KEEP_SECONDS
        if 0 <= now - at < keep:
            # limited, because a damaged note may be very large after decompression
            body = None if packed is None else zlib.decompressobj().decompress(b85decode(packed), MAX_BYTES)
            return HostFile(body, at + keep, unread)
    return None


def keep_file(
    notes: Notes, host: str, name: str, body: bytes | None, now: float, *, unread: bool = False
) -> HostFile:
    """Store a file for all workers, and return it. ``unread``: the file could not be read.

    The file is not stored if it is too long for a note, or if the storage is unavailable.
    """
    packed = None if body is None else b85encode(zlib.compress(body[:MAX_BYTES])).decode("ascii")
    with suppress(DataError, ValueError):
        note = {"at": round(now, 3), "body": packed}
        notes.save(NOTE_KIND + host, name, note | ({"unread": True} if unread else {}))
    return HostFile(body, now + (KEEP_UNREAD_SECONDS if unread else KEEP_SECONDS), unread)


MAX_KNOWN = 20_000
"""Maximum number of hosts that are remembered."""
MAX_TEXT = 4 * 2**20
"""Maximum total size of the remembered robots.txt files, in characters.

A parsed file takes 20 times its size in memory, so all files take at most 80 MB.
"""

CanFetch = Callable[[str, str], bool]
"""Takes a URL and the name of a crawler; returns True if robots.txt allows the fetch."""


class SiteRights:
    """The reservations against use by AI of each host. Middlewares add the files. :meth:`signals` is called
    for each page."""

    def __init__(self) -> None:
        self._robots = Bounded[str, tuple[RobotsSignals, CanFetch, int]](MAX_KNOWN)
        # This is twice the number of hosts that the middleware for tdmrep.json remembers, because this
        # middleware passes on each file only once.
        self._reservations = Bounded[str, Reservations](2 * MAX_KNOWN)
        self._licences = Bounded[str, Licence](2 * MAX_KNOWN)

    def heard_robots(self, url: str, signals: RobotsSignals, can_fetch: CanFetch, size: int = 0) -> None:
        """Store the statements about AI in the robots.txt of a URL's host.

        ``can_fetch`` applies the rules of the same file. ``size`` is the size of the file.
        """
        host = host_key(url)
        if host not in self._robots:
            self._robots.shrink(MAX_TEXT - size, lambda one: one[2])
        self._robots[host] = (signals, can_fetch, size)

    def heard_tdmrep(self, origin: str, reservations: Reservations) -> None:
        """Store the reservations of a host's tdmrep.json."""
        self._reservations[host_key(origin)] = reservations

    def licence_address(self, url: str) -> str | None:
        """Return the address of the licence that the robots.txt of a URL's host names, or None."""
        robots = self._robots.get(host_key(url))
        address = None if robots is None else robots[0].everywhere.get(LICENSE)
        return None if address is None else urljoin(url, address)

    def heard_licence(self, origin: str, licence: Licence) -> None:
        """Store the terms of the licence that the robots.txt of a host names."""
        self._licences[host_key(origin)] = licence

    def signals(self, url: str) -> dict[str, str]:
        """Return the reservations for a URL: name of the reservation -> place where it was found.

        The names are the same as in :attr:`newsbot.items.Article.rights`.
        """
        host = host_key(url)
        signals: dict[str, str] = {}
        if host in self._robots:
            robots, can_fetch, _ = self._robots[host]
            signals |= robots.signals(url, can_fetch)
            if address := self.licence_address(url):
                signals[LICENSE] = address
                signals |= self._licences.get(host, Licence()).signals(url)
        if host in self._reservations:
            signals |= self._reservations[host].signals(url)
        return signals


def headers_of(response: Response) -> dict[str, list[str]]:
    """Return the headers of a response by lower-case name."""
    headers: dict[bytes, list[bytes]] = dict(response.headers)
    return {
        name.decode("latin-1").lower(): [one.decode("latin-1") for one in values]
        for name, values in headers.items()
    }


def origin_of(url: str) -> str:
    """Return the scheme and authority of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
