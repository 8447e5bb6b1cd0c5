"""``scrapy articles import``: imports articles from WARC files, each file in one process.

Each archived page goes through the same pipelines as a fetched page. A file is a local path, or a URL from
which it is streamed. The position in the file is stored, so that an interrupted import continues there.
Imported pages that contain an article are recorded as fetched, so that a crawl does not fetch them as new
pages.

``scrapy backfill``: collects the older articles of a site.

The site itself comes first: a news crawl with ``since`` reads its sitemaps, its archives by date and its
lists. Then the indexes of web archives name further pages. An archived page is requested if its article is
not stored, and if the rule of the site or the family of its address admits it, as in a crawl.

The position in an index is stored, so that the same command continues there. An archived article never
replaces a stored one. Its page is not recorded as fetched: if the site still has the page, a crawl fetches
it, and its text becomes the current version.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from mimetypes import guess_type
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import url2pathname

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.conf import build_component_list
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import build_from_crawler, load_object
from w3lib.encoding import http_content_type_encoding

from newsbot.apps.archive import cdx
from newsbot.apps.archive.reader import Page, Stream, WarcFault, next_record, read_records
from newsbot.backends import open_rules, open_storage
from newsbot.cli.command import Action, Argument, Call, moment, one_of, positive
from newsbot.cli.log_lines import shape_logs
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, counted
from newsbot.clock import iso, utc
from newsbot.config.apps import open_documents
from newsbot.config.settings import number_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.scope import arguments_for
from newsbot.errors import ArgumentError, NotAnArticle, UserError
from newsbot.items import ARCHIVE, Article, Bounded, EventKind, Kind, Link, Reason, Where
from newsbot.pages.discovery.reader import html_of
from newsbot.pages.extraction import parse_html, read
from newsbot.pages.extraction.fields.date_candidates import from_url
from newsbot.pages.extraction.verdict import Standing
from newsbot.pages.rights import page_rights
from newsbot.pages.rules.rule import Rule, ascii_domain, classify
from newsbot.ranking.families import Result, SiteFamilies, State, family_of
from newsbot.ranking.judging import Judgement, judge
from newsbot.spiders.news import NewsSpider
from newsbot.spiders.reading import looks_like_html
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

KIND = "import"
"""Kind of the notes that hold the position in a file."""
NOTE_EVERY = 5.0
"""Minimum number of seconds between two writes of the position, and between two reports of the progress."""
_HEAD = 64 * 1024
"""Number of bytes from the beginning of a file that identify it."""
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
    """The progress of the import of one file or archive. The keys of ``counts`` are headings of the table."""

    name: str
    kind: str = ""
    """The kind of the note with the position; empty if the position is not stored."""
    key: str = ""
    at: dict[str, Any] = field(default_factory=dict)
    """The position, as it is stored: ``offset`` is the position in a file in bytes."""
    counts: Counter[str] = field(default_factory=Counter)
    done: bool = False
    before: bool = False
    """True if an earlier command imported everything. The counts are then from that command."""
    fault: str = ""
    damaged: list[str] = field(default_factory=list)
    """Position and error of the first :data:`MAX_NAMED` damaged records."""
    label: str = ""
    """The position in an archive in words."""
    is_stopped: bool = False
    """True if the budget was used up."""
    told: float = field(default_factory=time.monotonic)
    """When the position was last written and reported (monotonic seconds)."""


def _identity(stream: BinaryIO) -> bytes:
    """Return the identity of a local file, made from its start and its size.

    The identity does not depend on the path, so the file can be renamed or moved between two imports.
    """
    head = stream.read(_HEAD)
    return head + str(os.fstat(stream.fileno()).st_size).encode()


class Importer:
    """Imports files one after the other."""

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[str], None],
        *,
        sites: frozenset[str] | None = None,
        address: str | None = None,
    ) -> None:
        """Open the data and create the pipelines.

        ``tell`` is called every few seconds with the progress in one line. ``sites`` has the domains of the
        sites whose pages are imported; None means all sites. ``address`` is the URL of folders. Raises
        subclasses of :class:`newsbot.errors.UserError`.
        """
        self._tell, self._sites, self._address = tell, sites, address
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

    def run(self, name: str, *, again: bool) -> Progress:
        """Import a file (path or URL), and return the progress at the end.

        The import starts where the last import of the file stopped. With ``again`` it starts at the beginning
        of the file. If the file is damaged or becomes unreachable, ``fault`` in the result contains the
        reason. Raises subclasses of :class:`UserError` if the file cannot be opened, or if the data cannot be
        read or written.
        """
        try:
            if Path(name).is_dir():
                return asyncio.run(self._import_folder(Path(name)))
            if not name.startswith(("http://", "https://")):
                with Path(name).open("rb") as stream:
                    return self._run(name, _identity(stream), stream, again=again)
            agent = str(self._crawler.settings["USER_AGENT"])
            with closing(cdx.RemoteFile(name, agent, logger.warning)) as remote:
                return self._run(name, name.encode(), remote, again=again)
        except OSError as error:
            raise UserError(f"{name}: cannot be read ({error.strerror or error})") from error

    def _run(self, name: str, identity: bytes, stream: Stream, *, again: bool) -> Progress:
        sites = b"" if self._sites is None else " ".join(["", *sorted(self._sites)]).encode()
        key = hashlib.blake2b(identity + sites, digest_size=16).hexdigest()  # depends on the sites
        progress = self._begin(name, KIND, key, again=again)
        progress.at = {"path": name, "offset": int(progress.at.get("offset", 0))}
        if not progress.done:
            asyncio.run(self._import(progress, stream))
        return progress

    async def _import_folder(self, folder: Path) -> Progress:
        """Import the files of a folder and its subfolders. The time of a file is that of its last change."""
        if self._address is None:
            raise ArgumentError(
                f"{folder}: is a folder; give its URL, for example --url https://example.org/"
            )
        progress = Progress(str(folder), done=True)
        for page in _pages_in(folder, self._address, self._max_body):
            progress.counts.update(records=1, pages=1)
            progress.counts[await self._import_page(page, page.url)] += 1
            self._report(progress)
        return progress

    def _make_pipelines(self, settings: Settings) -> list[Any]:
        made = []
        for path in build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES")):
            try:
                made.append(build_from_crawler(load_object(path), self._crawler))
            except NotConfigured:  # the settings switch this pipeline off
                continue
        return made

    def _begin(self, name: str, kind: str, key: str, *, again: bool) -> Progress:
        """Return the stored progress; with ``again`` that of a beginning."""
        note = {} if again else dict(self._context.notes.all(kind).get(key, {}))
        counts, done = Counter(note.pop("counts", {})), bool(note.pop("done", False))
        return Progress(name, kind, key, note, counts, done, before=done)

    def _save(self, progress: Progress) -> None:
        note = {**progress.at, "counts": dict(progress.counts), "done": progress.done}
        self._context.notes.save(progress.kind, progress.key, note)

    def _report(self, progress: Progress) -> None:
        """Write and report the progress, at most every :data:`NOTE_EVERY` seconds."""
        if time.monotonic() - progress.told >= NOTE_EVERY:
            if progress.kind:
                self._save(progress)
            self._tell(self._in_words(progress))
            progress.told = time.monotonic()

    def _in_words(self, progress: Progress) -> str:
        counts = progress.counts
        records, articles = counted(counts["records"], "record"), counted(counts["new"], "new article")
        return f"{progress.name}: {records}, {articles}"

    async def _import(self, progress: Progress, stream: Stream) -> None:
        """Import the whole file. After a damaged record, reading continues at the next gzip member."""
        try:
            while (fault := await self._import_records(progress, stream)) is not None:
                # The damaged member begins at the offset, so the search for the next member starts one byte
                # later.
                beyond = next_record(stream, progress.at["offset"] + 1)
                if beyond is None:
                    raise fault
                progress.counts["damaged"] += 1
                if len(progress.damaged) < MAX_NAMED:
                    progress.damaged.append(f"byte {progress.at['offset']}: {fault}")
                progress.at["offset"] = beyond
        except (WarcFault, cdx.RemoteFault) as error:
            progress.fault = str(error)
        progress.done = not progress.fault
        self._save(progress)

    async def _import_records(self, progress: Progress, stream: Stream) -> WarcFault | None:
        """Import up to the end of the file, or up to the first unreadable record.

        Returns the fault of that record, or None at the end of the file.
        """
        # These counts can be ahead of the stored offset. They are copied to ``progress`` together with their
        # offset.
        counts = progress.counts.copy()
        try:
            for record in read_records(stream, start=progress.at["offset"], max_body=self._max_body):
                counts["records"] += 1
                if record.page is not None:
                    counts["pages"] += 1
                    counts[await self._import_page(record.page, progress.name)] += 1
                # After an interruption, the import repeats the records after the stored offset. If their
                # counts were stored already, they would be counted twice. If the end of a record is unknown,
                # the import cannot continue there, so the offset stays.
                if record.end is not None:
                    progress.at["offset"], progress.counts = record.end, counts.copy()
                self._report(progress)
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
        files = cdx.news_files(base, month, cdx.PacedClient(str(call.settings["USER_AGENT"]), 0.0, call.note))
    except cdx.RemoteFault as fault:
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
        with closing(Importer(call.settings, call.note, sites=sites, address=call.options.url)) as importer:
            for file in files:
                yield importer.run(file, again=again)
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
    with closing(Importer(settings, _tell, sites=sites, address=address)) as importer:
        return importer.run(file, again=again)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _show(call: Call, results: Sequence[Progress]) -> None:
    headings = [
        name
        for name in HEADINGS
        if call.json or name in HEADINGS[:8] or any(one.counts[name] for one in results)
    ]
    show_counts(call, Column("file", wide=True), headings, results)


def show_counts(
    call: Call, first: Column, headings: Sequence[str], results: Sequence[Progress], *more: str
) -> None:
    """Print the counts of files or archives. ``more`` are further attributes in the JSON document."""
    rows = [(one.name, *(one.counts[name] for name in headings)) for one in results]
    names = [first.title, *(name.replace(" ", "_") for name in headings)]
    document = [
        {
            **dict(zip(names, row, strict=True)),
            **{name: getattr(one, name) for name in more},
            "fault": one.fault or None,
        }
        for row, one in zip(rows, results, strict=True)
    ]
    call.listing(document, (first, *(Column(name, "right") for name in headings)), rows)


# --- backfill
SITE_KIND = "backfill:"
"""Beginning of the kind of the notes with the positions in the indexes. The domain of the site follows."""
PLACES = ("site", "wayback", "commoncrawl")
TRIES = 3
"""Maximum number of captures of a page that are requested until one of them is an article."""
MAX_TRIED = 200_000
"""Maximum number of pages that are remembered because none of their captures is an article."""
CAPTURE_HEADINGS = (
    "captures",
    "requested",
    "new",
    "known",
    "no article",
    "other dates",
    "refused",
    "missing",
)
_DAY = timedelta(days=1)
_STDERR = 2


class Backfill(Importer):
    """Imports captures of one site."""

    def __init__(
        self, settings: Settings, tell: Callable[[str], None], wanted: cdx.Wanted, max_pages: int | None
    ) -> None:
        super().__init__(settings, tell)
        self._wanted, self._max_pages = wanted, max_pages
        # What archived pages show must not open or close families of the site as it is now.
        self._site = SiteFamilies.read(self._crawl.families.of(wanted.domain).plain())
        self._tried = Bounded[bytes, None](MAX_TRIED)

    def collect(self, name: str, index: cdx.Index, *, again: bool) -> Progress:
        """Read an index from the stored position on, and import its captures; return the progress.

        The position is that of a part of the index, and the number of its captures that are done (``line``).
        """
        wanted = self._wanted
        key = " ".join([name, str(iso(wanted.since)), *([str(iso(wanted.until))] if wanted.until else [])])
        progress = self._begin(name, SITE_KIND + wanted.domain, key, again=again)
        progress.at = {"place": progress.at.get("place", {}), "line": int(progress.at.get("line", 0))}
        if not progress.done:
            asyncio.run(self._read_index(progress, index))
        return progress

    def _in_words(self, progress: Progress) -> str:
        counts = progress.counts
        captures, requested = counted(counts["captures"], "capture"), counted(counts["requested"], "request")
        new = counted(counts["new"], "new article")
        return f"{progress.name}: {progress.label}: {captures}, {requested}, {new}"

    async def _read_index(self, progress: Progress, index: cdx.Index) -> None:
        counts, at = progress.counts, progress.at
        before, skip = counts["requested"], at["line"]
        try:
            for part in index.parts(self._wanted, at["place"]):
                at["place"], at["line"], progress.label = part.place, skip, part.label
                failed: tuple[int, int] | None = None
                for captures in self._chosen(part, skip):
                    if self._max_pages is not None and counts["requested"] - before >= self._max_pages:
                        progress.is_stopped = True
                        return
                    try:
                        await self._take(index, [one for _, one in captures], counts)
                    except cdx.RemoteFault as fault:
                        if failed is not None:
                            at["line"], counts["captures"] = failed
                            counts["missing"] -= 1
                        if failed is not None or not fault.status:
                            raise
                        # The archive may be unable to return this page for ever. If it does not return the
                        # next one either, it is away, and the next run begins with the first of them.
                        failed = at["line"], counts["captures"]
                        counts["missing"] += 1
                    else:
                        failed = None
                    # The captures of a page may be apart, so the position is after the first of them.
                    counts["captures"] += captures[0][0] + 1 - at["line"]
                    at["line"] = captures[0][0] + 1
                    self._report(progress)
                counts["captures"] += len(part.captures) - at["line"]
                at["line"], skip = len(part.captures), 0
            progress.done = True
        except cdx.RemoteFault as fault:
            progress.fault = str(fault)
        finally:
            self._save(progress)

    def _chosen(self, part: cdx.Part, skip: int) -> Iterator[list[tuple[int, cdx.Capture]]]:
        """Yield the captures to request, those of one page together, with their numbers in the part."""
        pages: dict[bytes, list[tuple[int, cdx.Capture]]] = {}
        for number, capture in enumerate(part.captures[skip:], start=skip):
            if (key := self._key(capture)) is not None:
                pages.setdefault(key, []).append((number, capture))
        known = self._context.storage.articles.known(list(pages)) if pages else set()
        for key, captures in pages.items():
            if key not in known and key not in self._tried:
                self._tried.add(key)
                yield captures

    def _key(self, capture: cdx.Capture) -> bytes | None:
        """Return the fingerprint of a page that may be an article of the time, else None."""
        try:
            rule = self._context.rule_for(capture.url)
            url = canonicalize(capture.url, rule.drop_query)
        except ValueError:
            return None
        key, zone = fingerprint(url), self._wanted.since.tzinfo or UTC
        if rule.domain != self._wanted.domain or self._crawl.removals.covers(key, host_key(capture.url)):
            return None
        dates = (date.value.at(zone) for date in from_url(url))
        is_other = any(self._is_other_date(moment, _DAY) for moment in dates)
        return None if is_other or not self._is_wanted(url, rule) else key

    def _is_wanted(self, url: str, rule: Rule) -> bool:
        """Return True if a crawl would fetch a link to this canonical URL, as far as is known now."""
        judgement = judge(
            Link(url=url, where=Where.BODY),
            rule,
            depth=0,
            now=self._context.now(),
            is_open=lambda one: self._site.state(family_of(one)) is State.OPEN,
        )
        if not judgement.accepted or judgement.kind is not Kind.ARTICLE:
            return False
        of_family = judgement.token == Reason.LIKELY_ARTICLE
        return judgement.token == Reason.RULE or (
            of_family and self._site.state(family_of(url)) is not State.CLOSED
        )

    def _is_other_date(self, moment: datetime, more: timedelta = timedelta(0)) -> bool:
        since, until = self._wanted.since, self._wanted.until
        return moment < since - more or (until is not None and moment >= until + more)

    async def _take(self, index: cdx.Index, captures: Sequence[cdx.Capture], counts: Counter[str]) -> None:
        """Request the captures of a page, the oldest first, until one of them is an article."""
        url = captures[0].url
        rule = self._context.rule_for(url)
        canonical = canonicalize(url, rule.drop_query)
        if not self._is_wanted(canonical, rule):  # the family was closed by pages before this one
            return
        outcome, digests = "missing", set[str]()
        for capture in captures:
            if len(digests) >= TRIES or (capture.digest and capture.digest in digests):
                continue
            digests.add(capture.digest or capture.moment)
            counts["requested"] += 1
            page = index.fetch(capture, self._max_body)
            if page is None or page.status != 200 or page.body is None:
                continue
            outcome = await self._take_page(page, rule, index.address(capture))
            if outcome != "no article":
                break
        counts[outcome] += 1
        if outcome not in ("missing", "refused"):
            refusal = Reason.NO_ARTICLE.value if outcome == "no article" else ""
            self._site.add(Result(family=family_of(canonical), named=False, refusal=refusal))

    async def _take_page(self, page: Page, rule: Rule, address: str) -> str:
        """Store the article of an archived page. Return the counter of the outcome."""
        try:
            article = self._read(page, rule, self._site)
        except NotAnArticle:
            return "no article"
        if article.published_at is not None and self._is_other_date(article.published_at):
            return "other dates"
        if self._context.storage.articles.get(article.canonical_url) is not None:
            return "known"
        article.extraction[ARCHIVE] = address
        outcome = await self._store(article)
        if outcome == "new":
            self._record_page(page, rule, page.at or self._context.now(), address, is_fetched=False)
        return "known" if outcome in ("unchanged", "duplicates") else outcome


def backfill(call: Call) -> int:
    """Collect the older articles of a site. The exit code is 1 if a place could not be read to its end."""
    options, settings = call.options, call.settings
    try:
        domain = ascii_domain(options.site.strip().lower())
    except ValueError as error:
        raise ArgumentError(f"SITE: {error}") from error
    if options.until and options.since >= options.until:
        raise ArgumentError("--since is not before --until: no article would match")
    first, last = datetime(1990, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)  # days can be added
    wanted = cdx.Wanted(
        domain=open_rules(settings).for_url(f"https://{domain}/").domain,
        since=min(max(options.since, first), last),
        until=options.until and min(max(options.until, first), last),
    )
    places = [name for name in PLACES if name in (options.places or PLACES)]
    code = _crawl_site(call, wanted) if "site" in places else 0
    client = cdx.PacedClient(
        str(settings["USER_AGENT"]), number_of(settings, "NEWSBOT_ARCHIVE_DELAY"), call.note
    )
    indexes: dict[str, cdx.Index] = {
        "wayback": cdx.Wayback(settings["NEWSBOT_WAYBACK"], client),
        "commoncrawl": cdx.CommonCrawl(settings["NEWSBOT_COMMON_CRAWL"], settings["NEWSBOT_CC_NEWS"], client),
    }
    results = []
    with closing(Backfill(settings, call.note, wanted, options.max_pages)) as archives:
        for name in places:
            if name in indexes:
                results.append(archives.collect(name, indexes[name], again=options.again))
                _tell_end(call, results[-1])
    show_counts(call, Column("place"), CAPTURE_HEADINGS, results, "done")
    return 1 if code or any(one.fault for one in results) else 0


def _crawl_site(call: Call, wanted: cdx.Wanted) -> int:
    """Crawl the site itself in another process; return its exit code."""
    with closing(open_storage(call.settings)) as storage:
        note = storage.notes.all(SITE_KIND + wanted.domain).get("site", {})
    since = min(filter(None, (note.get("since"), iso(wanted.since))))
    is_read = note.get("since") == since and not call.options.again
    named = arguments_for(open_rules(call.settings), [wanted.domain])
    arguments = {
        **{name: ",".join(values) for name, values in named.items()},
        "since": iso(wanted.since),
        **({"until": iso(wanted.until)} if wanted.until else {}),
        **({} if is_read else {"now": "yes"}),  # sources that were read before may name older articles
    }
    given = {
        name: call.settings[name]
        for name in call.settings
        if (call.settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]
    }
    if call.options.max_pages:
        given["CLOSESPIDER_PAGECOUNT"] = call.options.max_pages
    command = [sys.executable, "-m", PROGRAM, "crawl", "news"]
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    code = subprocess.run(command, check=False, stdout=_STDERR).returncode  # noqa: S603  # our own command
    if not code:
        with closing(open_storage(call.settings)) as storage:
            storage.notes.save(SITE_KIND + wanted.domain, "site", {"since": since})
    return code


def _tell_end(call: Call, progress: Progress) -> None:
    if progress.fault:
        call.note(f"{progress.name}: {progress.fault}; run the same command again to continue")
    elif progress.is_stopped:
        call.note(f"{progress.name}: --max-pages is used up; run the same command again to continue")
    elif progress.before:
        call.note(f"{progress.name}: was read before, with these counts; --again reads it again")


ACTIONS = (
    Action(
        "",
        "Collect the older articles of a site: from its sitemaps and archives, then from web archives",
        backfill,
        Argument("site", metavar="SITE", help="the domain of the site"),
        Argument(
            "--since", metavar="DATE", type=moment, required=True, help="published since DATE (2024-01)"
        ),
        Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
        Argument(
            "--from",
            dest="places",
            action="append",
            type=one_of(*PLACES),
            metavar="PLACE",
            help="site, wayback or commoncrawl; may be repeated (default: all, in this order)",
        ),
        Argument(
            "--max-pages",
            metavar="N",
            type=positive,
            help="request at most N pages from each place in this run (default: no limit)",
        ),
        Argument("--again", action="store_true", help="read the indexes from their beginning"),
        writes=True,
    ),
)
