"""Fetches the pictures of articles from their sites.

A request is sent as a notice's request is (:mod:`newsbot.apps.web.outgoing`): without cookies and without a
referrer, and never to a private address. It is not sent if the robots.txt of the host forbids it. Crawls and
this module share the robots.txt of each host, which is fetched once a day.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from protego import Protego

from newsbot.apps.pictures.cache import Picture, PictureCache, kind_of
from newsbot.apps.web.outgoing import Answer, Outgoing, OutgoingError
from newsbot.apps.web.readers import Readers
from newsbot.clock import system_clock
from newsbot.errors import DataError
from newsbot.items import Bounded
from newsbot.pages.rights import for_protego
from newsbot.sites.rights import ROBOTS, HostFile, keep_file, kept_file, origin_of
from newsbot.urls import host_key

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
