"""A cache of robots.txt and tdmrep.json. All workers together fetch these files once a day from each host.

One file is kept for http and https. RFC 9309 distinguishes them, but in practice the files are the same. The
files are stored compressed in the notes of each host (:func:`newsbot.urls.host_key`).
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from contextlib import suppress
from dataclasses import dataclass

from newsbot.errors import DataError
from newsbot.storage.notes import Notes

KEEP_SECONDS = 24 * 3600.0  # the longest time that RFC 9309, 2.4 recommends
MAX_BYTES = 1 << 20
"""Maximum size of a stored file in bytes."""
NOTE_KIND = "files of "


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file. ``body`` is None if the host does not have it; ``expires`` is in POSIX seconds."""

    body: bytes | None
    expires: float


def kept_file(notes: Notes, host: str, name: str, now: float) -> HostFile | None:
    """Return a file of a host if it was fetched less than a day before ``now`` (POSIX seconds), else None.

    ``host`` is a :func:`newsbot.urls.host_key`. While the storage is unavailable, None is returned too.
    """
    # the errors of a note that is missing, damaged or of another version
    with suppress(DataError, KeyError, TypeError, ValueError, zlib.error):
        note = notes.all(NOTE_KIND + host)[name]
        at, packed = float(note["at"]), note["body"]
        if 0 <= now - at < KEEP_SECONDS:
            # limited, because a damaged note may become very large when it is decompressed
            body = None if packed is None else zlib.decompressobj().decompress(b85decode(packed), MAX_BYTES)
            return HostFile(body, at + KEEP_SECONDS)
    return None


def keep_file(notes: Notes, host: str, name: str, body: bytes | None, now: float) -> HostFile:
    """Store a file for all workers, and return it.

    The file is not stored if it is too long for a note, or while the storage is unavailable.
    """
    packed = None if body is None else b85encode(zlib.compress(body[:MAX_BYTES])).decode("ascii")
    with suppress(DataError, ValueError):
        notes.save(NOTE_KIND + host, name, {"at": round(now, 3), "body": packed})
    return HostFile(body, now + KEEP_SECONDS)
