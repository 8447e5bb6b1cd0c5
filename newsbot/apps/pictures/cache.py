"""Keeps pictures as files in the folder ``pictures`` of the data folder, up to a total size.

If there is no room, the least recently used files are deleted. Each file is deleted after a week, so the
picture of a removed article does not stay.

A missing picture is fetched from its site. The request is sent as a notice's request is
(:mod:`newsbot.apps.web.http`): without cookies and without a referrer, and never to a private address. It
is not sent if the robots.txt of the host forbids it. Crawls and this module share the robots.txt of each
host, which is fetched once a day.

The page ``/picture``: the picture of a stored article, only for people who are logged in.

The address of the page names the article and not the picture, so the server fetches nothing but pictures of
stored articles.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aiohttp import web
from protego import Protego

from newsbot.apps.web.dashboard.rendering import HEADERS
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.apps.web.http import Answer, Outgoing, OutgoingError
from newsbot.apps.web.readers import Data, Readers
from newsbot.backends import data_folder
from newsbot.clock import system_clock
from newsbot.config.settings import SettingsLike, value_of
from newsbot.errors import DataError
from newsbot.items import Bounded
from newsbot.pages.rights import for_protego
from newsbot.sites.rights import ROBOTS, HostFile, keep_file, kept_file, origin_of
from newsbot.urls import host_key

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


def prune(settings: SettingsLike, before: float, *, delete: bool) -> int:
    """Delete the pictures that were stored before a moment (POSIX seconds), and return their number."""
    return PictureCache(data_folder(settings) / FOLDER, 10**15).prune(before, delete=delete)


MAX_BYTES = 4 * 10**6
"""Maximum size of a picture. A larger one is not shown."""
AT_ONCE = 8
"""Maximum number of requests at the same time; one to each host."""
FAILED_SECONDS = 3600.0
"""Seconds before a picture that could not be shown is requested again."""
MAX_FAILED = 10_000
"""Maximum number of pictures that are known as failed."""
MAX_HOSTS = 2000
"""Maximum number of hosts whose turns are known."""
MAX_WAITING = 200
"""Maximum number of pictures that wait for their request. Further ones are not shown now."""
_REFUSES = ("none", "noindex", "noarchive", "noimageindex")
"""Words of the header X-Robots-Tag with which a site asks not to keep a picture."""


class Pictures:
    """The pictures that the dashboard shows. ``agent`` is the name for robots.txt."""

    def __init__(self, outgoing: Outgoing, cache: PictureCache, readers: Readers, agent: str) -> None:
        self._outgoing, self._cache, self._readers, self._agent = outgoing, cache, readers, agent
        self._failed = Bounded[str, float](MAX_FAILED)
        """URL of a picture -> time of the failure."""
        self._hosts = Bounded[str, asyncio.Lock](MAX_HOSTS)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def get(self, url: str) -> Picture | None:
        """Return the picture at a URL, or None if it cannot or must not be shown."""
        if (found := await asyncio.to_thread(self._cache.get, url)) is not None:
            return found
        if system_clock() - self._failed.get(url, 0.0) < FAILED_SECONDS or self._waiting >= MAX_WAITING:
            return None
        self._waiting += 1
        try:
            return await self._in_turn(url, host_key(url))
        except ValueError:  # not an http(s) URL
            return None
        finally:
            self._waiting -= 1

    async def _in_turn(self, url: str, host: str) -> Picture | None:
        lock = self._hosts.setdefault(host, asyncio.Lock())
        async with lock, self._slots:
            found = await asyncio.to_thread(self._cache.get, url)  # another request may have fetched it
            if found is None and (found := await self._fetch(url)) is None:
                self._failed[url] = system_clock()
        return found

    async def _fetch(self, url: str) -> Picture | None:
        try:
            answer = await self._outgoing.get(url, limit=MAX_BYTES, check=self._check)
        except OutgoingError:
            return None
        kind = kind_of(answer.body)
        if answer.status != 200 or kind is None or len(answer.body) >= MAX_BYTES or _refused(answer):
            return None
        picture = Picture(kind, answer.body)
        with suppress(OSError):  # the disk may be full; the picture is shown all the same
            await asyncio.to_thread(self._cache.put, url, picture)
        return picture

    async def _check(self, url: str) -> None:
        """Raise :class:`OutgoingError` if the robots.txt of a URL's host forbids the request."""
        file = await self._robots(url)
        if file.unread:
            raise OutgoingError(f"{host_key(url)}: robots.txt cannot be read")
        if file.body is not None:
            robots = Protego.parse(for_protego(file.body.decode("utf-8", "ignore")))
            if not robots.can_fetch(url, self._agent):
                raise OutgoingError(f"{url[:200]}: robots.txt forbids it")

    async def _robots(self, url: str) -> HostFile:
        host, now = host_key(url), system_clock()
        with suppress(DataError):
            kept = await self._readers.call(lambda data: kept_file(data.storage.notes, host, ROBOTS, now))
            if kept is not None:
                return kept
        body, unread = None, False
        try:
            answer = await self._outgoing.get(f"{origin_of(url)}/robots.txt")
            unread = answer.status >= 500 or answer.status == 429
            body = answer.body if answer.status < 300 else None
        except OutgoingError:
            unread = True  # RFC 9309, 2.3.1.4: nothing may be requested then
        if unread:
            return HostFile(None, now, unread=True)  # not kept: crawls read the file in their own way
        return await self._readers.call(lambda data: keep_file(data.storage.notes, host, ROBOTS, body, now))


def _refused(answer: Answer) -> bool:
    stated = answer.headers.get("X-Robots-Tag", "").lower().replace(",", " ").split()
    return any(word in _REFUSES for word in stated)


PICTURES = web.AppKey("pictures", Pictures)
_HEADERS = HEADERS | {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "private, max-age=86400",
}
_RESERVED = ("noarchive", "noindex")
"""Reservations of an article (:mod:`newsbot.pages.rights`) that its picture keeps as well."""


async def picture(board: Dashboard, request: web.Request) -> web.Response:
    """Return the picture of the article ``url``; 404 if there is none that may be shown."""
    if board.access.session(request) is None:
        return board.closed(request)
    url = request.query.get("url", "")
    address = await board.readers.call(lambda data: _address(data, url))
    shown = request.app.get(PICTURES)
    found = await shown.get(address) if shown and address else None
    if found is None:
        raise web.HTTPNotFound(text="The article has no picture that can be shown.")
    return web.Response(body=found.body, headers=_HEADERS | {"Content-Type": KINDS[found.kind]})


def _address(data: Data, url: str) -> str | None:
    article = data.storage.articles.get(url)
    if article is None or any(name in article.rights for name in _RESERVED):
        return None
    return article.image


async def _opened(board: Dashboard, app: web.Application) -> AsyncIterator[None]:
    settings = await board.readers.call(lambda data: data.settings)
    megabytes = int(value_of(settings, "NEWSBOT_PICTURES"))
    if not megabytes:
        yield
        return
    agent = str(settings.get("ROBOTSTXT_USER_AGENT") or "newsbot")
    private = bool(value_of(settings, "NEWSBOT_ALLOW_PRIVATE"))
    async with Outgoing(settings.get("USER_AGENT") or agent, allow_private=private) as outgoing:
        cache = PictureCache(data_folder(settings) / FOLDER, megabytes * 10**6)
        app[PICTURES] = Pictures(outgoing, cache, board.readers, agent)
        board.has_pictures = True
        yield


def add(board: Dashboard, app: web.Application) -> None:
    """Add the page. It answers with 404 if the setting NEWSBOT_PICTURES is 0."""
    app.router.add_get("/picture", board.reading(picture))
    app.cleanup_ctx.append(partial(_opened, board))
