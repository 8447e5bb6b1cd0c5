"""Small builders for unit tests: the parts of a crawl on real files, visits, responses, articles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Headers, HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from newsbot import settings as project
from newsbot.clock import utc
from newsbot.crawl import assembly
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import Context
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.scope import Arguments
from newsbot.crawl.visit import META_KEY, Answer, Check, Visit
from newsbot.frontier.base import Entry, Lease
from newsbot.items import Article, Kind, Link, PageRecord, Where
from newsbot.ranking.judging import Judgement
from newsbot.spiders.news import NewsSpider
from newsbot.spiders.reading import Reader

START = 1_795_000_000.0
"""The start time of a test's clock: 2026-11-18."""

DEFAULTS = (
    "delay: 0\nconcurrency: 50\ninterval: {feed: 10m, sitemap: 10m, section: 10m, article: 1d, other: 7d}\n"
)
RULES = {"news.test": "domain: news.test\nfeeds: https://news.test/feed.xml\n"}


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Desk:
    """One crawl without Scrapy's engine: its parts, crawler and clock, on real SQLite files."""

    def __init__(
        self, folder: Path, rules: Mapping[str, str] | None, settings: Mapping[str, Any], **arguments: Any
    ) -> None:
        places = folder / "rules"
        places.mkdir(exist_ok=True)
        for name, text in {"_defaults": DEFAULTS, **(RULES if rules is None else rules)}.items():
            (places / f"{name}.yaml").write_text(text, encoding="utf8")
        chosen = Settings()
        chosen.setmodule(project)
        own = {"NEWSBOT_DATA": str(folder / "data"), "NEWSBOT_RULES": str(places), "NEWSBOT_RETRY_SCALE": 1.0}
        chosen.setdict({**own, **settings}, priority="cmdline")
        self.crawler = Crawler(NewsSpider, chosen)
        self.crawler.stats = MemoryStatsCollector(self.crawler)
        self.clock = ManualClock()
        self._priority = 1000.0
        parsed = Arguments(**arguments)
        self.crawl = Crawl(self.crawler.settings, self.crawler.stats, parsed, self.clock)
        self.context = self.crawl.context
        setattr(self.crawler, assembly._ATTRIBUTE, self.crawl)
        self.crawl.open()
        obeys_noindex = chosen.getbool("NEWSBOT_OBEY_NOINDEX")
        self.read = Reader(self.crawl, obeys_noindex=obeys_noindex).read

    def stat(self, name: str) -> Any:
        """Return the stat ``newsbot/<name>``, 0 if it is not set."""
        assert self.crawler.stats is not None
        return self.crawler.stats.get_value(f"newsbot/{name}", 0)

    def entry(self, url: str, kind: Kind = Kind.ARTICLE, **more: Any) -> Entry:
        """Return an entry made by ``entry_for``. ``more``: ``where``, ``why``, ``depth``, …"""
        return make_entry(self.context, url, kind, **more)

    def queue(self, url: str, kind: Kind = Kind.ARTICLE, **more: Any) -> Entry:
        """Queue a URL with its page record."""
        entry = self.entry(url, kind, **more)
        self.context.storage.pages.discover([page_for(entry, self.clock())])
        self.context.frontier.set_politeness(entry.host, delay=0, concurrency=50)
        self.context.frontier.add([entry], force=True)
        return entry

    def visit(self, url: str, kind: Kind = Kind.ARTICLE, **more: Any) -> Visit:
        """Queue a URL, lease it, and begin the visit with its page record, as the scheduler does.

        This URL is leased even if other URLs wait on its host.
        """
        self._priority += 1
        entry = self.queue(url, kind, priority=self._priority, **more)
        [lease] = self.context.frontier.lease(
            "test", 1, horizon=self.clock() + 1, ttl=60, accept=lambda host: host == entry.host
        )
        assert lease.entry.fingerprint == entry.fingerprint
        return self.begin(lease)

    def begin(self, lease: Lease) -> Visit:
        """Begin the visit of a lease."""
        entry = lease.entry
        rule = self.context.rules.get(entry.data["source"]) or self.context.rule_for(entry.url)
        record = self.context.storage.pages.get([entry.fingerprint]).get(entry.fingerprint)
        return Visit(lease=lease, rule=rule, started=self.clock(), check=Check(record=record))

    def settle(self, visit: Visit) -> None:
        """Complete only this visit."""
        completion = self.crawl.completion
        completion.queue(visit)
        for step in completion.conclude(visit):
            if isinstance(step, PageRecord):
                self.context.storage.pages.save([step])
            elif step is not None:
                self.context.frontier.ack_all([step])


_OF_HEADERS = ("content_type", "content_length", "server", "etag", "last_modified")
_OF_ANSWER = ("url", "status", "max_age", "retry_after")


def fill(visit: Visit, **results: Any) -> Visit:
    """Set results of a visit, each in its phase: ``status``, ``etag``, ``error``, ``links_count``, …"""
    of_answer = {name: results.pop(name) for name in _OF_ANSWER if name in results}
    headers = {name: results.pop(name) for name in _OF_HEADERS if name in results}
    if of_answer or headers:
        answer = visit.answer or Answer(url=visit.url, status=200)
        visit.answer = replace(answer, **of_answer, fields={**answer.fields, **headers})
    for name in ("redirected_to", "due"):
        if name in results:
            setattr(visit, name, results.pop(name))
    if "new_items" in results:
        visit.settling.new_items = results.pop("new_items")
    visit.read(**results)
    return visit


def make_entry(
    context: Context,
    url: str,
    kind: Kind = Kind.ARTICLE,
    *,
    where: Where = Where.FEED,
    why: str = "feed",
    depth: int = 1,
    referrer: str | None = None,
    force: bool = False,
    text: str | None = None,
    priority: float = 1000.0,
) -> Entry:
    """Return the entry of a link that has already been judged."""
    return entry_for(
        Link(url=url, where=where, text=text),
        context.rule_for(url),
        Judgement(kind=kind, priority=priority, accepted=True, reason=why),
        depth=depth,
        referrer=referrer,
        now=context.clock(),
        force=force,
    )


def make_request(visit: Visit, url: str | None = None, **headers: str) -> Request:
    """Return the request of a visit."""
    request = Request(url or visit.lease.entry.url, meta={META_KEY: visit}, headers=dict(headers))
    visit.carrier = request
    return request


def make_response(
    request: Request, body: bytes | str = b"", status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response to a request."""
    raw = body.encode() if isinstance(body, str) else body
    return HtmlResponse(
        request.url, status=status, headers=Headers(dict(headers or {})), body=raw, request=request
    )


def prose(number: int, words: int = 60) -> str:
    """Return a text that has no shingles in common with the text for any other number."""
    return " ".join(f"word{number}x{step}" for step in range(words)) + "."


def make_article(number: int = 1, **fields: Any) -> Article:
    """Return an article with a title and a text that are unique for its number."""
    url = f"https://news.test/story/{number}"
    defaults: dict[str, Any] = {
        "url": url,
        "canonical_url": url,
        "source": "news.test",
        "title": f"Story number {number}",
        "text": prose(number),
        "fetched_at": utc(START),
    }
    return Article(**{**defaults, **fields})
