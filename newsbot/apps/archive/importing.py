"""``scrapy articles import``: imports articles from WARC files, each file in one process.

Each archived page goes through the same pipelines as a fetched page. A file is a local path, or a URL from
which it is streamed. The position in the file is stored, so that an interrupted import continues there.
Imported pages that contain an article are recorded as fetched, so that a crawl does not fetch them as new
pages.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from mimetypes import guess_type
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import url2pathname

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.conf import build_component_list
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import build_from_crawler, load_object
from w3lib.encoding import http_content_type_encoding

from newsbot.apps.archive.cdx import RemoteFault, RemoteFile, news_files
from newsbot.apps.archive.reader import Page, Stream, WarcFault, next_record, read_records
from newsbot.backends import open_rules
from newsbot.cli.command import Call
from newsbot.cli.log_lines import shape_logs
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, counted
from newsbot.clock import utc
from newsbot.config.apps import open_documents
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.entries import entry_for, page_for
from newsbot.errors import ArgumentError, NotAnArticle, UserError
from newsbot.items import Article, EventKind, Kind, Link, Reason, Where
from newsbot.pages.discovery.reader import html_of
from newsbot.pages.extraction import parse_html, read
from newsbot.pages.extraction.verdict import Standing
from newsbot.pages.rights import page_rights
from newsbot.pages.rules.rule import Rule, ascii_domain, classify
from newsbot.ranking.families import SiteFamilies, State, family_of
from newsbot.ranking.judging import Judgement
from newsbot.spiders.news import NewsSpider
from newsbot.spiders.reading import looks_like_html
from newsbot.urls import canonicalize, fingerprint, host_key

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

    ``offset`` is the position in the file in bytes. The keys of ``counts`` are the :data:`HEADINGS`.
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
    """True if an earlier command imported the file completely. The counts are then from that command."""


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

    def __init__(
        self, settings: Settings, *, sites: frozenset[str] | None = None, address: str | None = None
    ) -> None:
        """Open the data and create the pipelines.

        ``sites`` has the domains of the sites whose pages are imported; None means all sites. ``address`` is
        the URL of folders. Raises subclasses of :class:`newsbot.errors.UserError`.
        """
        self._address = address
        self._sites = sites
        self._crawler = Crawler(NewsSpider, settings)
        self._crawler.stats = MemoryStatsCollector(self._crawler)
        settings = self._crawler.settings  # with the components of the spider
        self._crawl = Crawl.of(self._crawler)
        self._context = self._crawl.context
        self._max_body = settings.getint("DOWNLOAD_MAXSIZE")
        self._documents = open_documents(settings.get("NEWSBOT_APPS"))
        self._obey_noindex = settings.getbool("NEWSBOT_OBEY_NOINDEX")
        self._pipelines = self._make_pipelines(settings)
        self._crawl.open()

    def close(self) -> None:
        """Write the counters of the sites, then close the data."""
        self._crawl.write_sites()
        self._crawl.close()

    def run(self, name: str, *, again: bool, tell: Callable[[Progress], None]) -> Progress:
        """Import a file (path or URL), and return the progress at the end.

        The import starts where the last import of the file stopped. With ``again`` it starts at the beginning
        of the file. ``tell`` is called every few seconds with the progress. If the file is damaged or becomes
        unreachable, ``fault`` in the result contains the reason. Raises subclasses of :class:`UserError` if
        the file cannot be opened, or if the data cannot be read or written.
        """
        try:
            if Path(name).is_dir():
                return asyncio.run(self._import_folder(Path(name), tell))
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

    async def _import_folder(self, folder: Path, tell: Callable[[Progress], None]) -> Progress:
        """Import the files of a folder and its subfolders. The time of a file is that of its last change."""
        if self._address is None:
            raise ArgumentError(
                f"{folder}: is a folder; give its URL, for example --url https://example.org/"
            )
        progress, last_note = Progress(str(folder), key="", done=True), time.monotonic()
        for page in _pages_in(folder, self._address, self._max_body):
            progress.counts.update(records=1, pages=1)
            progress.counts[await self._import_page(page, page.url)] += 1
            if time.monotonic() - last_note >= NOTE_EVERY:
                tell(progress)
                last_note = time.monotonic()
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
        key = hashlib.blake2b(identity + sites, digest_size=16).hexdigest()  # depends on the sites
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
                # The damaged member begins at the offset, so the search for the next member starts one byte
                # later.
                beyond = next_record(stream, progress.offset + 1)
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
        last_note = time.monotonic()
        # These counts can be ahead of the stored offset. They are copied to ``progress`` together with their
        # offset.
        counts = progress.counts.copy()
        try:
            for record in read_records(stream, start=progress.offset, max_body=self._max_body):
                counts["records"] += 1
                if record.page is not None:
                    counts["pages"] += 1
                    counts[await self._import_page(record.page, progress.name)] += 1
                # After an interruption, the import repeats the records after the stored offset. If their
                # counts were stored already, they would be counted twice. If the end of a record is unknown,
                # the import cannot continue there, so the offset stays.
                if record.end is not None:
                    progress.offset, progress.counts = record.end, counts.copy()
                if time.monotonic() - last_note >= NOTE_EVERY:
                    self._note(progress)
                    tell(progress)
                    last_note = time.monotonic()
        except WarcFault as fault:
            return fault
        progress.counts = counts
        return None

    async def _import_page(self, page: Page, file: str) -> str:
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
            article = self._read(page, rule, self._crawl.families.of(rule.domain))
        except NotAnArticle:
            return "no article"
        outcome = await self._store(article)
        if outcome != "refused":
            self._record_page(page, rule, article.fetched_at or self._context.now(), file.rpartition("/")[2])
        return outcome

    def _read(self, page: Page, rule: Rule, site: SiteFamilies) -> Article:
        """Extract the article of a page of the site with these families. Raises :class:`NotAnArticle`."""
        assert page.body is not None
        stated = page.headers.get("content-type", "")
        body, content_type = html_of(self._documents, page.url, stated, page.body)
        if not looks_like_html(body, content_type):
            raise NotAnArticle("not_html")
        at = page.at or self._context.now()
        tree = parse_html(body, http_content_type_encoding(content_type))
        rights = page_rights({name: [value] for name, value in page.headers.items()}, tree, url=page.url)
        if self._obey_noindex and not rights.index:
            raise NotAnArticle("noindex")
        memory = self._crawl.sites.shared_lines.of(rule.domain)
        is_open = site.state(family_of(canonicalize(page.url, rule.drop_query))) is State.OPEN
        reading = read(
            body,
            page.url,
            rule=rule,
            tree=tree,
            now=at,
            memory=memory,
            standing=Standing.MEMBER if is_open else Standing.ALONE,
            witnesses=site.witnesses,
        )
        if reading.article is None:
            raise NotAnArticle(reading.refusal)
        article = reading.article
        article.discovered_at = article.fetched_at = at
        article.rights = dict(rights.signals)
        # The memory learns the lines that the site repeats on its pages. These lines are left out of later
        # articles.
        memory.learn(article.url, article.shown.splitlines())
        return article

    async def _store(self, article: Article) -> str:
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

    def _record_page(
        self, page: Page, rule: Rule, at: datetime, file: str, *, is_fetched: bool = True
    ) -> None:
        """Record the page; with ``is_fetched`` as fetched, so that a crawl does not fetch it as a new page.

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
        record.state = "done"
        if is_fetched:
            record.http_status, record.checks = page.status, 1
            record.last_fetched = record.last_full_fetch = moment
        record.history.append({"at": moment, "event": EventKind.IMPORTED.value, "file": file})
        # The storage is written first, so that the frontier never knows a page without a record.
        context.storage.pages.discover([record])
        if is_fetched:
            context.frontier.mark_done([entry], None)


def _pages_in(folder: Path, address: str, max_body: int) -> Iterator[Page]:
    """Yield the files of a folder as pages below ``address``. Hidden files and folders are left out."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inner.parts):
            facts = path.stat()
            yield Page(
                url=urljoin(address.rstrip("/") + "/", quote(inner.as_posix())),
                at=utc(facts.st_mtime),
                status=200,
                headers={"content-type": guess_type(path.name)[0] or ""},
                body=path.read_bytes() if facts.st_size <= max_body else None,
            )


_GOES_ON = "the records before this place were imported; run the same command again to continue"
_NO_PAGES = (
    f"contains no original pages to import. If the file was made with {PROGRAM} articles export, "
    "import the files in NEWSBOT_WARC_DIR instead"
)


def import_files(call: Call) -> int:
    """Import WARC files and folders. The exit code is 1 if one of them could not be read to its end."""
    options = call.options
    if bool(options.file) == bool(options.cc_news):
        raise ArgumentError(
            "give either WARC files, folders or --cc-news MONTH, for example --cc-news 2026-11"
        )
    if options.sample is not None and not options.cc_news:
        raise ArgumentError("--sample works only with --cc-news")
    try:
        canonicalize(options.url or "https://example.org/")
    except ValueError as error:
        raise ArgumentError(f"--url: {error}") from error
    sites = _sites(call)
    files = _of_month(call) if options.cc_news else [_local(str(one)) for one in options.file]
    processes = min(options.processes or (os.cpu_count() or 1 if options.cc_news else 1), len(files))
    results = []
    for progress in _imported(call, files, sites, processes):
        results.append(progress)
        for line in progress.damaged:
            call.note(f"{progress.name}: {line}; skipped")
        if progress.fault:
            rest = _GOES_ON if progress.counts["records"] else "no articles were imported"
            call.note(f"{progress.name}: {progress.fault}; {rest}")
        elif progress.before:
            call.note(f"{progress.name}: was imported before, with these counts; --again imports it again")
        elif not progress.counts["pages"]:
            what = _NO_PAGES if progress.counts["records"] else "is empty: it contains no records"
            call.note(f"{progress.name}: {what}")
    # Parallel imports end in any order; the table has the order of the command line.
    _show(call, sorted(results, key=lambda one: files.index(one.name)))
    return 1 if any(progress.fault for progress in results) else 0


def _local(name: str) -> str:
    """Return the path of a ``file:`` address. Other names are returned unchanged."""
    return url2pathname(urlsplit(name).path) if name.startswith("file:") else name


def _sites(call: Call) -> frozenset[str] | None:
    """Return the domains of the sites whose pages are imported; None means all sites.

    If the options name sites, these sites are returned. Otherwise the user's own files are imported with all
    sites. CC-NEWS has pages of most news sites of the world, so only sites with a rule are imported from it.
    """
    given = [call.options.source] if call.options.source else (call.options.sites or "").split(",")
    try:
        named = frozenset(ascii_domain(site.strip()) for site in given if site.strip())
    except ValueError as error:
        raise ArgumentError(f"--sites: {error}") from error
    if named or not call.options.cc_news:
        return named or None
    ruled = frozenset(rule.domain for rule in open_rules(call.settings))
    if not ruled:
        raise ArgumentError("no site has a rule; name the sites to import with --sites")
    return ruled


def _of_month(call: Call) -> list[str]:
    """Return the URLs of the CC-NEWS files of a month, or of the part that ``--sample`` chooses.

    Raises :class:`UserError` if the list of the month cannot be read.
    """
    month, base = call.options.cc_news, call.settings["NEWSBOT_CC_NEWS"]
    if re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", month) is None:
        raise ArgumentError(f"--cc-news: {month!r} is not a month; write it as 2026-11")
    try:
        files = news_files(base, month, str(call.settings["USER_AGENT"]), call.note)
    except RemoteFault as fault:
        if fault.status in (403, 404):
            raise UserError(f"{fault}; there are no files for {month} at {base} (NEWSBOT_CC_NEWS)") from fault
        raise UserError(
            f"{fault}; check whether {base} is right (NEWSBOT_CC_NEWS) and can be reached"
        ) from fault
    if call.options.sample is None:
        return files
    chosen = sorted(files, key=_draw)[: math.ceil(len(files) * call.options.sample)]
    # The files keep the order of the list, so that the progress is easy to follow.
    return [file for file in files if file in chosen]


def _draw(file: str) -> bytes:
    """Return the sort key of a file for a random order that never changes.

    So a repeated command chooses the same sample, and a larger sample includes all files of a smaller one.
    """
    return hashlib.blake2b(file.rpartition("/")[2].encode(), digest_size=8).digest()


def _imported(
    call: Call, files: Sequence[str], sites: frozenset[str] | None, processes: int
) -> Iterator[Progress]:
    """Import the files and yield the result of each, in the order in which they end."""
    again = call.options.again
    if processes <= 1:
        with closing(Importer(call.settings, sites=sites, address=call.options.url)) as importer:
            for file in files:
                yield importer.run(file, again=again, tell=_teller(call.note))
        return
    open_rules(call.settings)  # errors in rules are reported once, not by each process
    # The start method is "spawn". With "fork" a child would inherit the locks of threads and open connections
    # in an unknown state.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin_process, (call.settings,))
    try:
        tasks = [
            pool.submit(_import_one, call.settings, file, sites, call.options.url, again) for file in files
        ]
        for task in as_completed(tasks):
            yield task.result()
    except BrokenProcessPool as error:
        raise UserError(
            "a process of the import was killed; run the same command again to continue"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin_process(settings: Settings) -> None:
    """Set up a process of the pool: its logs, and its reaction to Ctrl-C and to the end of the command."""
    configure_logging(settings)
    shape_logs(settings)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process at once; the position is stored already
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this process if the command is killed; otherwise it would wait forever for its next file."""
    # join() returns when the parent has ended, even if it was killed.
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _import_one(
    settings: Settings, file: str, sites: frozenset[str] | None, address: str | None, again: bool
) -> Progress:
    """Import one file in a process of the pool."""
    with closing(Importer(settings, sites=sites, address=address)) as importer:
        return importer.run(file, again=again, tell=_teller(lambda line: print(line, file=sys.stderr)))


def _teller(note: Callable[[str], None]) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        counts = progress.counts
        records, articles = counted(counts["records"], "record"), counted(counts["new"], "new article")
        note(f"{progress.name}: {records}, {articles}")

    return tell


def _show(call: Call, results: Sequence[Progress]) -> None:
    headings = [
        name
        for name in HEADINGS
        if call.json or name in HEADINGS[:8] or any(one.counts[name] for one in results)
    ]
    counts = [{name.replace(" ", "_"): one.counts[name] for name in headings} for one in results]
    call.listing(
        [
            {"file": one.name, **numbers, "fault": one.fault or None}
            for one, numbers in zip(results, counts, strict=True)
        ],
        (Column("file", wide=True), *(Column(name, "right") for name in headings)),
        ((one.name, *numbers.values()) for one, numbers in zip(results, counts, strict=True)),
    )
