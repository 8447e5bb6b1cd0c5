"""Imports articles from WARC files: each archived page goes through the same pipelines as a fetched one.

Where a file stands is noted in the storage, so that an import that is broken off goes on there. A page that
is an article is known from then on: no crawl fetches it as a new one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

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
from newsbot.rights import page_rights
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.spiders.news import NewsSpider
from newsbot.spiders.reading import looks_like_html
from newsbot.urls import canonicalize, fingerprint, host_key
from newsbot.warc.reader import Page, WarcFault, read_records

KIND = "import"
NOTE_EVERY = 5.0
"""Seconds between two notes of where a file stands."""
_HEAD = 64 * 1024
HEADINGS = ("records", "pages", "new", "updated", "unchanged", "duplicates", "no article", "refused")


@dataclass(slots=True)
class Progress:
    """Where the import of one file stands."""

    path: Path
    key: str
    offset: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    done: bool = False
    fault: str = ""
    before: bool = False
    """It was imported by an earlier command: the counts are those of then."""


class Importer:
    """Imports files one after the other; ``tell`` is called now and then with what is under way."""

    def __init__(self, settings: Settings, *, source: str | None = None) -> None:
        """Open the data and make the pipelines. Raises :class:`newsbot.errors.UserError` kinds."""
        self._source = source
        self._crawler = Crawler(NewsSpider, settings)
        self._crawler.stats = MemoryStatsCollector(self._crawler)
        self._crawl = Crawl.of(self._crawler)
        self._context = self._crawl.context
        self._max_body = settings.getint("DOWNLOAD_MAXSIZE")
        self._obey_noindex = settings.getbool("NEWSBOT_OBEY_NOINDEX")
        self._pipelines = self._make_pipelines(settings)
        self._crawl.open()

    def close(self) -> None:
        """Write the books of the sites and close the data."""
        self._crawl.write_sites()
        self._crawl.close()

    def run(self, path: Path, *, again: bool, tell: Callable[[Progress], None]) -> Progress:
        """Import a file, from where the last import of it stopped. Raises :class:`UserError` kinds."""
        try:
            progress = self._begin(path, again=again)
            if not progress.done:
                asyncio.run(self._import(progress, tell))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
        return progress

    def _make_pipelines(self, settings: Settings) -> list[Any]:
        made = []
        for path in build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES")):
            try:
                made.append(build_from_crawler(load_object(path), self._crawler))
            except NotConfigured:
                continue
        return made

    def _begin(self, path: Path, *, again: bool) -> Progress:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(_HEAD)
        what = f"{size}" if self._source is None else f"{size} {self._source}"  # another site: another import
        key = hashlib.blake2b(head + what.encode(), digest_size=16).hexdigest()
        note = {} if again else self._context.notes.all(KIND).get(key, {})
        counts = Counter(note.get("counts", {}))
        done = bool(note.get("done", False))
        return Progress(path, key, int(note.get("offset", 0)), counts, done, before=done)

    def _note(self, progress: Progress) -> None:
        note = {
            "path": str(progress.path),
            "offset": progress.offset,
            "counts": dict(progress.counts),
            "done": progress.done,
        }
        self._context.notes.save(KIND, progress.key, note)

    async def _import(self, progress: Progress, tell: Callable[[Progress], None]) -> None:
        noted = time.monotonic()
        counts = progress.counts.copy()
        with progress.path.open("rb") as stream:
            try:
                for record in read_records(stream, start=progress.offset, max_body=self._max_body):
                    counts["records"] += 1
                    if record.page is not None:
                        counts["pages"] += 1
                        counts[await self._take(record.page, progress.path)] += 1
                    if record.end is not None:
                        progress.offset, progress.counts = record.end, counts.copy()
                    if time.monotonic() - noted >= NOTE_EVERY:
                        self._note(progress)
                        tell(progress)
                        noted = time.monotonic()
            except WarcFault as error:
                progress.fault = str(error)
        progress.done = not progress.fault
        progress.counts = counts
        self._note(progress)

    async def _take(self, page: Page, path: Path) -> str:
        """Bring one page through; return the heading under which it counts."""
        if page.status != 200 or page.body is None:
            return "refused"
        try:
            rule = self._context.rule_for(page.url)
            canonical = canonicalize(page.url, rule.drop_query)
        except ValueError:
            return "refused"
        if self._source is not None and rule.domain != self._source:
            return "refused"
        if classify(rule, canonical).denied:
            return "refused"
        try:
            article = self._read(page, rule)
        except NotAnArticle:
            return "no article"
        said = await self._keep(article)
        if said != "refused":
            self._know(page, rule, article.fetched_at or self._context.now(), path)
        return said

    def _read(self, page: Page, rule: Rule) -> Article:
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
        article = read_page(page.body, page.url, rule=rule, tree=tree, now=at, memory=memory)
        article.discovered_at = article.fetched_at = at
        article.rights = dict(rights.signals)
        memory.learn(article.url, article.text.splitlines())
        return article

    async def _keep(self, article: Article) -> str:
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

    def _know(self, page: Page, rule: Rule, at: datetime, path: Path) -> None:
        """Record the page as fetched, unless it is known better, so that no crawl takes it for a new one."""
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
        record.history.append({"at": moment, "event": EventKind.IMPORTED.value, "file": path.name})
        context.storage.pages.discover([record])
        context.frontier.mark_done([entry], None)
