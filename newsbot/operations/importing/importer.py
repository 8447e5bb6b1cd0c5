"""Imports articles from WARC files: each archived page goes through the same pipelines as a fetched page.

A file is a local path, or a URL from which it is streamed. The position in the file is stored, so that an
interrupted import continues there. Imported pages that contain an article are recorded as fetched, so that a
crawl does not fetch them as new pages.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import build_from_crawler, load_object
from w3lib.encoding import http_content_type_encoding

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.entries import entry_for, page_for
from newsbot.errors import NotAnArticle, UserError
from newsbot.extraction import parse_html, read_page
from newsbot.items import Article, EventKind, Kind, Link, Reason, Where
from newsbot.ranking.judging import Judgement
from newsbot.rights.directives import page_rights
from newsbot.rules.rule import Rule, classify
from newsbot.spiders.news import NewsSpider
from newsbot.spiders.reading import looks_like_html
from newsbot.urls import canonicalize, fingerprint, host_key
from newsbot.warc.reader import Page, Stream, WarcFault, next_member, read_records
from newsbot.warc.remote import RemoteFault, RemoteFile

logger = logging.getLogger(__name__)

KIND = "import"
"""Kind of the notes that hold the position in a file."""
NOTE_EVERY = 5.0
"""Minimum number of seconds between two writes of the position, and between two reports of the progress."""
_HEAD = 64 * 1024
HEADINGS = (
    "records",
    "pages",
    "new",
    "updated",
    "unchanged",
    "duplicates",
    "no article",
    "refused",
    "other sites",
    "damaged",
)
MAX_NAMED = 10
"""Maximum number of damaged records that are listed for a file."""


@dataclass(slots=True)
class Progress:
    """The progress of the import of one file.

    ``offset`` is the position in the file in bytes. ``counts`` has the keys of :data:`HEADINGS`.
    """

    name: str
    key: str
    offset: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    done: bool = False
    fault: str = ""
    damaged: list[str] = field(default_factory=list)
    """Position and error of the first :data:`MAX_NAMED` damaged records."""
    before: bool = False
    """True if an earlier command imported the file completely. The counts are then those of that command."""


def is_address(name: str) -> bool:
    """Return True if ``name`` is a URL, not a local file."""
    return name.startswith(("http://", "https://"))


def _identity(stream: BinaryIO) -> bytes:
    """Return the identity of a local file, made from its start and its size.

    The identity does not depend on the path, so the file can be renamed or moved between two imports.
    """
    head = stream.read(_HEAD)
    return head + str(os.fstat(stream.fileno()).st_size).encode()


class Importer:
    """Imports files one after the other."""

    def __init__(self, settings: Settings, *, sites: frozenset[str] | None = None) -> None:
        """Open the data and create the pipelines.

        ``sites`` has the domains of the sites whose pages are imported; None means all sites. Raises
        subclasses of :class:`newsbot.errors.UserError`.
        """
        self._sites = sites
        self._crawler = Crawler(NewsSpider, settings)
        self._crawler.stats = MemoryStatsCollector(self._crawler)
        self._crawl = Crawl.of(self._crawler)
        self._context = self._crawl.context
        self._max_body = settings.getint("DOWNLOAD_MAXSIZE")
        self._obey_noindex = settings.getbool("NEWSBOT_OBEY_NOINDEX")
        self._pipelines = self._make_pipelines(settings)
        self._crawl.open()

    def close(self) -> None:
        """Write the counters of the sites, then close the data."""
        self._crawl.write_sites()
        self._crawl.close()

    def run(self, name: str, *, again: bool, tell: Callable[[Progress], None]) -> Progress:
        """Import a file (path or URL), and return the progress at the end.

        The import starts where the last import of the file stopped, or with ``again`` at the start of the
        file. ``tell`` is called every few seconds with the progress. For a damaged or unreachable file no
        exception is raised; ``fault`` of the result then has the reason. Raises subclasses of
        :class:`UserError` if the file cannot be opened, or if the data cannot be read or written.
        """
        try:
            if not is_address(name):
                with Path(name).open("rb") as stream:
                    return self._run(name, _identity(stream), stream, again=again, tell=tell)
            agent = str(self._crawler.settings["USER_AGENT"])
            with closing(RemoteFile(name, agent, logger.warning)) as remote:
                return self._run(name, name.encode(), remote, again=again, tell=tell)
        except OSError as error:
            raise UserError(f"{name}: cannot be read ({error.strerror or error})") from error

    def _run(
        self, name: str, identity: bytes, stream: Stream, *, again: bool, tell: Callable[[Progress], None]
    ) -> Progress:
        progress = self._begin(name, identity, again=again)
        if not progress.done:
            asyncio.run(self._import(progress, stream, tell))
        return progress

    def _make_pipelines(self, settings: Settings) -> list[Any]:
        made = []
        for path in build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES")):
            try:
                made.append(build_from_crawler(load_object(path), self._crawler))
            except NotConfigured:  # the settings switch this pipeline off
                continue
        return made

    def _begin(self, name: str, identity: bytes, *, again: bool) -> Progress:
        sites = b"" if self._sites is None else " ".join(["", *sorted(self._sites)]).encode()
        key = hashlib.blake2b(identity + sites, digest_size=16).hexdigest()  # one for each choice of sites
        note = {} if again else self._context.notes.all(KIND).get(key, {})
        counts = Counter(note.get("counts", {}))
        done = bool(note.get("done", False))
        return Progress(name, key, int(note.get("offset", 0)), counts, done, before=done)

    def _note(self, progress: Progress) -> None:
        note = {
            "path": progress.name,
            "offset": progress.offset,
            "counts": dict(progress.counts),
            "done": progress.done,
        }
        self._context.notes.save(KIND, progress.key, note)

    async def _import(self, progress: Progress, stream: Stream, tell: Callable[[Progress], None]) -> None:
        """Import the whole file. After a damaged record, reading continues at the next gzip member."""
        try:
            while (fault := await self._import_records(progress, stream, tell)) is not None:
                beyond = next_member(stream, progress.offset + 1)
                if beyond is None:
                    raise fault
                progress.counts["damaged"] += 1
                if len(progress.damaged) < MAX_NAMED:
                    progress.damaged.append(f"byte {progress.offset}: {fault}")
                progress.offset = beyond
        except (WarcFault, RemoteFault) as error:
            progress.fault = str(error)
        progress.done = not progress.fault
        self._note(progress)

    async def _import_records(
        self, progress: Progress, stream: Stream, tell: Callable[[Progress], None]
    ) -> WarcFault | None:
        """Import up to the end of the file, or up to the first unreadable record.

        Returns the fault of that record, or None at the end of the file.
        """
        noted = time.monotonic()
        counts = progress.counts.copy()
        try:
            for record in read_records(stream, start=progress.offset, max_body=self._max_body):
                counts["records"] += 1
                if record.page is not None:
                    counts["pages"] += 1
                    counts[await self._take(record.page, progress.name)] += 1
                # Counts and offset change together. After an interruption the import repeats the records
                # after the stored offset, and must not count them twice. If the end of a record is unknown,
                # the import cannot continue there, so the offset stays.
                if record.end is not None:
                    progress.offset, progress.counts = record.end, counts.copy()
                if time.monotonic() - noted >= NOTE_EVERY:
                    self._note(progress)
                    tell(progress)
                    noted = time.monotonic()
        except WarcFault as fault:
            return fault
        progress.counts = counts
        return None

    async def _take(self, page: Page, file: str) -> str:
        """Send one page through the pipelines. Return the counter of its outcome, a key of ``HEADINGS``."""
        if page.status != 200 or page.body is None:
            return "refused"
        try:
            rule = self._context.rule_for(page.url)
            canonical = canonicalize(page.url, rule.drop_query)
        except ValueError:
            return "refused"
        if self._sites is not None and rule.domain not in self._sites:
            return "other sites"
        if classify(rule, canonical).denied:
            return "refused"
        try:
            article = self._read(page, rule)
        except NotAnArticle:
            return "no article"
        said = await self._keep(article)
        if said != "refused":
            self._know(page, rule, article.fetched_at or self._context.now(), file)
        return said

    def _read(self, page: Page, rule: Rule) -> Article:
        """Extract the article of a page. Raises :class:`NotAnArticle`."""
        content_type = page.headers.get("content-type", "")
        assert page.body is not None
        if not looks_like_html(page.body, content_type):
            raise NotAnArticle("not_html")
        at = page.at or self._context.now()
        tree = parse_html(page.body, http_content_type_encoding(content_type))
        rights = page_rights({name: [value] for name, value in page.headers.items()}, tree)
        if self._obey_noindex and not rights.index:
            raise NotAnArticle("noindex")
        memory = self._crawl.sites.shared_lines.of(rule.domain)
        vouched = self._crawl.sites.url_learning.vouches(rule, page.url)
        article = read_page(page.body, page.url, rule=rule, tree=tree, now=at, memory=memory, vouched=vouched)
        article.discovered_at = article.fetched_at = at
        article.rights = dict(rights.signals)
        # The memory learns the lines that the site repeats on its pages. Later articles leave these lines
        # out.
        memory.learn(article.url, article.shown.splitlines())
        return article

    async def _keep(self, article: Article) -> str:
        """Send an article through the pipelines, which store it; return the counter for the outcome."""
        try:
            item: Any = article
            for pipeline in self._pipelines:
                item = pipeline.process_item(item)
                if asyncio.iscoroutine(item):
                    item = await item
        except DropItem as error:
            headings: dict[str, str] = {Reason.UNCHANGED: "unchanged", Reason.SAME_TEXT: "duplicates"}
            return headings.get(getattr(error, "reason", ""), "refused")
        return "new" if article.version == 1 else "updated"

    def _know(self, page: Page, rule: Rule, at: datetime, file: str) -> None:
        """Record the page as fetched, so that a crawl does not fetch it as a new page.

        The record of a page that is already known is not changed.
        """
        context, moment = self._context, at.timestamp()
        if self._crawl.removals.covers(
            fingerprint(canonicalize(page.url, rule.drop_query)), host_key(page.url)
        ):
            return
        judgement = Judgement(kind=Kind.ARTICLE, priority=0.0, accepted=True, reason=Reason.IMPORTED)
        link = Link(url=page.url, where=Where.ARGUMENT, kind=Kind.ARTICLE)
        entry = entry_for(link, rule, judgement, depth=0, referrer=None, now=moment)
        record = page_for(entry, moment)
        record.state, record.http_status = "done", page.status
        record.last_fetched = record.last_full_fetch = moment
        record.checks = 1
        record.history.append(
            {"at": moment, "event": EventKind.IMPORTED.value, "file": file.rpartition("/")[2]}
        )
        # In this order, so that the frontier never knows a page without a record.
        context.storage.pages.discover([record])
        context.frontier.mark_done([entry], None)
