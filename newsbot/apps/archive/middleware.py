"""The archive of a crawl: writes requests and responses to WARC files (ISO 28500) in the folder
NEWSBOT_WARC_DIR.

A separate thread compresses and writes one exchange (a request and its response) at a time. A page is
acknowledged after its exchange is written, so that a crash loses no exchange. If the folder cannot be
written, this is logged once. The crawl continues without the archive and tries again after :data:`REST`
seconds. :mod:`newsbot.crawl.visit` decides which pages are archived.

The pictures, audio and video of new and changed articles are archived too (setting NEWSBOT_WARC_MEDIA). The
files are requested within the visit of their page, one after the other: robots.txt, the turns of the host
and the address guard apply. Pages that say ``noarchive`` are left out with their files.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response
from scrapy.settings import BaseSettings

from newsbot.apps.archive import writer
from newsbot.clock import Clock
from newsbot.config.settings import SettingsLike, number_of, value_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_for
from newsbot.crawl.visit import EXCHANGE_KEY, GIVEN_KEY, META_KEY, PART_KEY, RULE_KEY, Visit, keep_page
from newsbot.errors import ArgumentError, DataError, DataUnavailable, UserError
from newsbot.items import Article, Bounded
from newsbot.middlewares import Middleware, content_type_of
from newsbot.pages.rules.rule import Rule

logger = logging.getLogger(__name__)


REST = 60.0
"""Seconds from a failed write to the next try."""


class Archive:
    """Writes exchanges to ``folder``.

    ``count(name)`` is called for each exchange, with ``archive/kept`` or ``archive/lost``.
    """

    def __init__(
        self,
        folder: writer.WarcFolder,
        count: Callable[[str], None],
        clock: Clock = time.monotonic,
        *,
        indexes: Indexes | None = None,
    ) -> None:
        self._folder = folder
        self._lines = {} if indexes is None else indexes.lines
        self._uploads = None if indexes is None else indexes.uploads
        self._count = count
        self._clock = clock
        # A WARC file has one writer, so there is only one thread. The crawl continues during compression.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="warc")
        self._lost = 0
        """Number of exchanges lost since the last successful write."""
        self._next_try = 0.0

    async def keep(self, exchange: writer.Exchange) -> None:
        """Write an exchange. If it cannot be written, it is counted as lost and nothing is raised."""
        # After a fault, one exchange every REST seconds is written as a test. All others are lost.
        if self._lost and self._clock() < self._next_try:
            self._lose()
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, exchange)
        except OSError as error:
            if not self._lost:
                logger.error(
                    "pages cannot be archived folder=%s fault=%s; the crawl tries again in %.0f s",
                    self._folder.folder, error.strerror or error, REST,
                )  # fmt: skip
            self._next_try = self._clock() + REST
            self._lose()
            return
        if self._lost:
            logger.warning("archiving works again folder=%s lost=%d", self._folder.folder, self._lost)
            self._lost = 0
        self._count("archive/kept")

    def close(self) -> None:
        """Wait for the thread and finish the current file."""
        self._thread.shutdown()
        try:
            self._folder.close()
        except OSError as error:
            logger.error(
                "archive cannot be finished folder=%s fault=%s", self._folder.folder, error.strerror or error
            )
        if self._uploads is not None:
            self._uploads.close()

    def _write(self, exchange: writer.Exchange) -> None:
        response, request = writer.packed_records(exchange)
        name, offset = self._folder.write(response + request)
        if exchange.status != HTTPStatus.NOT_MODIFIED:  # its record refers to the page of an earlier visit
            self._lines.setdefault(name, []).append(writer.line_of(exchange, name, offset, len(response)))

    def _lose(self) -> None:
        self._lost += 1
        self._count("archive/lost")


class Indexes:
    """Writes the index of each finished file: from known lines, or else from the records of the file.

    ``uploads`` then copies the file and its index.
    """

    def __init__(self, uploads: writer.Uploads | None = None) -> None:
        self.uploads = uploads
        self.lines: dict[str, list[str]] = {}
        """The lines of open files, by their final names."""

    def finished(self, path: Path) -> None:
        """Write the index of a file. A fault is logged: searches then read the file itself."""
        known = self.lines.pop(path.name, None)
        try:
            writer.write_index(path, writer.lines_in(path) if known is None else known)
        except OSError as error:
            logger.error("archive without index file=%s fault=%s", path, error.strerror or error)
        if self.uploads is not None:
            self.uploads.add(path)


def open_archive(
    settings: BaseSettings, count: Callable[[str], None], *, is_check: bool = False
) -> Archive | None:
    """Return the archive in the folder NEWSBOT_WARC_DIR, or None if the setting is empty.

    With ``is_check``, nothing is copied to NEWSBOT_WARC_S3. Raises :class:`newsbot.errors.UserError` if a
    setting is not valid, and :class:`DataUnavailable` if the folder cannot be written.
    """
    name = settings.get("NEWSBOT_WARC_DIR")
    if not name:
        return None
    size = int(number_of(settings, "NEWSBOT_WARC_SIZE"))
    # fields of the record warcinfo (ISO 28500)
    about = f"http-header-user-agent: {settings.get('USER_AGENT')}\r\nrobots: obey\r\n"
    if not settings.getbool("ROBOTSTXT_OBEY"):
        about = about.replace("robots: obey", "robots: ignore")
    bucket = value_of(settings, "NEWSBOT_WARC_S3")
    uploads = writer.Uploads(bucket) if bucket else None
    try:
        indexes = Indexes(None if is_check else uploads)
        folder = writer.WarcFolder(
            Path(name).expanduser(), max_size=size, about=about, finished=indexes.finished
        )
        if indexes.uploads is not None:
            indexes.uploads.start(folder.folder)
        return Archive(folder, count, indexes=indexes)
    except OSError as error:
        raise DataUnavailable(
            f"NEWSBOT_WARC_DIR={name}: cannot be written ({error.strerror or error})"
        ) from error


def check(settings: BaseSettings, rules: Iterable[Rule]) -> None:  # noqa: ARG001  (the form of all checks)
    """Raise the errors of :func:`open_archive` before a crawl starts."""
    if (archive := open_archive(settings, lambda _: None, is_check=True)) is not None:
        archive.close()


def prune(settings: SettingsLike, before: float, *, delete: bool) -> int:
    """Return the number of WARC files that were last written before ``before`` (POSIX seconds).

    Files that are not in NEWSBOT_WARC_S3 yet are left out. With ``delete`` the files are deleted. Raises
    :class:`ArgumentError` if no archive is configured, and :class:`UserError` if the folder cannot be read or
    a file cannot be deleted.
    """
    name = settings.get("NEWSBOT_WARC_DIR")
    if not name:
        raise ArgumentError("raw: NEWSBOT_WARC_DIR is not set, so no raw pages are stored")
    folder = Path(name).expanduser()
    bucket = value_of(settings, "NEWSBOT_WARC_S3")
    uploads = writer.Uploads(bucket) if bucket else None
    count = 0
    try:
        for path in sorted(folder.glob(f"*{writer.SUFFIX}")):
            with suppress(FileNotFoundError):  # another process has pruned the file in the meantime
                # A file that is not in the object store yet is kept.
                if path.stat().st_mtime < before and (uploads is None or uploads.has(path)):
                    count += 1
                    if delete:
                        path.unlink()
                        for ending in (writer.INDEX, writer.COPIED):
                            path.with_name(path.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    return count


_PUBLIC = ("User-Agent", "Accept-Language", "Proxy-Authorization")


class WireMiddleware(Middleware):
    """Keeps each response as the server sent it, before it is decompressed.

    Does nothing if there is no archive.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._context = self._crawl.context
        crawler.signals.connect(self._open, signals.spider_opened)

    def _open(self) -> None:
        """Open the archive that the settings name. A dry run has none."""
        if not self._crawl.scope.arguments.dry_run:
            self._context.archive = open_archive(self.crawler.settings, self._context.count)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Keep the response in the request's meta for the spider. Archive a redirect at once."""
        archive = self._context.archive
        if archive is None:
            return response
        exchange = _exchange(request, response)
        # The spider does not get a redirect, but only the response of its target. A 304 response is not a
        # redirect: the spider gets it.
        if 300 <= response.status < 400 and response.status != 304:
            await archive.keep(exchange)
        else:
            request.meta[EXCHANGE_KEY] = exchange
        return response


class ArchiveMiddleware(Middleware):
    """Archives a response after the spider has read it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on everything that the spider yields. Then archive the page, unless it says ``noarchive``."""
        async for output in result:
            yield output
        visit: Visit | None = response.meta.get(META_KEY)
        if visit is None or visit.reading.rights.archive:
            await keep_page(self._context, self._removals, response)


def _exchange(request: Request, response: Response) -> writer.Exchange:
    # What the rule of the site gives may be secret, and so may be the cookies that the site returns for it.
    given = [name.encode() for name in request.meta.get(GIVEN_KEY, ()) if name not in _PUBLIC]
    hidden = {*given, *([b"Set-Cookie"] if request.headers.get("Cookie") or given else ())}
    return writer.Exchange(
        url=response.url,
        at=datetime.now(UTC),
        method=request.method,
        asked=_pairs(request.headers, hidden),
        status=response.status,
        protocol=response.protocol or "",
        answered=_pairs(response.headers, hidden),
        body=response.body,
        address="" if response.ip_address is None else str(response.ip_address),
    )


def _pairs(headers: Any, hidden: set[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    left_out = {name.lower() for name in hidden}
    shown = ((name, values) for name, values in dict(headers).items() if name.lower() not in left_out)
    return tuple((name, value) for name, values in shown for value in values)


# --- media
MAX_FILES = 10
"""Maximum number of files of one article."""
MAX_KNOWN = 50_000
"""Maximum number of files that a worker remembers, so that a new version does not archive them again."""
_TYPES = ("image/", "audio/", "video/", "application/octet-stream", "binary/octet-stream", "application/ogg")
"""Types of responses that are archived. Many servers send audio files as octets without a type."""


class MediaFiles(Middleware):
    """Requests and archives the files of articles after they are stored."""

    def __init__(self, crawler: Crawler) -> None:
        self._most = int(value_of(crawler.settings, "NEWSBOT_WARC_MEDIA")) * 10**6
        if not self._most:
            raise NotConfigured
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals
        self._known = Bounded[str, None](MAX_KNOWN)
        crawler.signals.connect(self._stored, signals.item_scraped)

    async def _stored(self, item: Any, response: Response) -> None:
        visit: Visit | None = response.meta.get(META_KEY)
        if not isinstance(item, Article) or visit is None or not visit.reading.rights.archive:
            return
        # The video of a post is its own page.
        for url in [one["url"] for one in item.media if one["url"] != item.url][:MAX_FILES]:
            if self._context.archive is None or self._context.outage.ending():
                return
            if url not in self._known:
                self._known.add(url)
                await self._keep(url, visit)

    async def _keep(self, url: str, visit: Visit) -> None:
        meta = {RULE_KEY: visit.rule, PART_KEY: visit.url, "download_maxsize": self._most}
        try:
            response = await self.download(url, meta=meta)
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001  (the article is stored in any case)
            self._context.count(f"archive/media/{cause_for(url, error)}")
            return
        kind = content_type_of(response).lower()
        if response.status != 200 or not kind.startswith(_TYPES) or kind.startswith("image/svg"):
            self._context.count("archive/media/other_type")
            return
        await keep_page(self._context, self._removals, response)
        self._context.count("archive/media/kept")
