"""Keeps pictures as files in the folder ``pictures`` of the data folder, up to a total size.

If there is no room, the least recently used files are deleted. Each file is deleted after a week, so the
picture of a removed article does not stay.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from newsbot.backends import data_folder
from newsbot.config.settings import SettingsLike

FOLDER = "pictures"
"""Name of the folder in the data folder."""
KEEP_SECONDS = 7 * 86400.0
"""Maximum age of a file."""
MAX_FILES = 20_000
KINDS = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
}
"""The kinds of pictures that are shown, by the end of the file name. SVG is left out: it can have scripts."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture."""

    kind: str
    """A key of :data:`KINDS`."""
    body: bytes


def kind_of(body: bytes) -> str | None:
    """Return the kind of a picture by its first bytes; None if the format is not in :data:`KINDS`."""
    if body.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if body.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if body.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return "webp"
    return "avif" if body[4:12] in (b"ftypavif", b"ftypavis") else None


class PictureCache:
    """The files in one folder. ``most`` is the maximum of their total size in bytes."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most

    def get(self, url: str) -> Picture | None:
        """Return the picture of a URL, or None if it is not stored."""
        for kind in KINDS:
            path = self._path(url, kind)
            with suppress(OSError):
                if path.stat().st_mtime > time.time() - KEEP_SECONDS:
                    picture = Picture(kind, path.read_bytes())
                    os.utime(path, (time.time(), path.stat().st_mtime))  # the time of use; the age stays
                    return picture
        return None

    def put(self, url: str, picture: Picture) -> None:
        """Store a picture. Delete old files, and the least recently used files beyond the total size.

        Raises ``OSError``.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(url, picture.kind)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(picture.body)
        part.replace(path)
        self.prune(time.time() - KEEP_SECONDS)

    def prune(self, before: float, *, delete: bool = True) -> int:
        """Delete the files that were stored before a moment (POSIX seconds), and those without room.

        Return their number. Without ``delete``, they are only counted.
        """
        files = []
        with suppress(OSError), os.scandir(self._folder) as found:
            files = [(one.path, one.stat()) for one in found if one.is_file(follow_symlinks=False)]
        files.sort(key=lambda one: -one[1].st_atime)  # those that were used last come first
        size = number = 0
        for place, (path, status) in enumerate(files):
            size += status.st_size
            if status.st_mtime < before or size > self._most or place >= MAX_FILES:
                number += 1
                if delete:
                    Path(path).unlink(missing_ok=True)
        return number

    def _path(self, url: str, kind: str) -> Path:
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:40]}.{kind}"


def open_cache(settings: SettingsLike, megabytes: int) -> PictureCache:
    """Return the cache in the data folder."""
    return PictureCache(data_folder(settings) / FOLDER, megabytes * 10**6)


def prune(settings: SettingsLike, before: float, *, delete: bool) -> int:
    """Delete the pictures that were stored before a moment (POSIX seconds), and return their number."""
    return PictureCache(data_folder(settings) / FOLDER, 10**15).prune(before, delete=delete)
