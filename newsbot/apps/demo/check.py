"""``scrapy demo``: crawls the demo sites that come with newsbot and checks the result.

The stored articles and the requests of the crawl are compared with the manifest, which lists every article
that the demo sites publish.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from datetime import datetime
from itertools import combinations
from pathlib import Path

from newsbot.apps.demo import server as web
from newsbot.backends import open_storage
from newsbot.cli.command import FAULT, Action, Argument, Call, plain, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.clock import from_iso
from newsbot.errors import ArgumentError, DataUnavailable
from newsbot.items import Article
from newsbot.urls import canonicalize, fingerprint

WORDS_SHARE = 0.8
"""A correct text has at least this share of the number of words of the article."""
FIRST_LETTERS = 60
"""A correct text contains this number of characters from the start of the article's first line."""
COLUMNS = columns(
    "site | expected > | stored once > | missing > | twice > | unexpected > | wrong > | dated >"
)
STORY_COLUMNS = columns("pairs of similar texts | pairs > | in one story > | wrong >")
_SOURCES = frozenset({"robots", "feed", "sitemap", "section"})
_Pair = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Fault:
    """One difference between the stored articles and the manifest."""

    what: str
    """``missing``, ``twice``, ``unexpected``, ``wrong title`` or ``wrong text``."""
    url: str
    detail: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of the articles of one source."""

    expected: int = 0
    once: int = 0
    """Number of articles that were stored exactly once."""
    missing: int = 0
    twice: int = 0
    """Number of articles that were stored more than once."""
    unexpected: int = 0
    wrong: int = 0
    """Number of articles that were stored with a wrong title or text."""
    dated: int = 0
    """Number of articles that were stored with the correct time of publication."""


@dataclass(slots=True)
class Report:
    """The result of :func:`compare`."""

    faults: list[Fault] = field(default_factory=list)
    hosts: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    """Counts by source."""

    @property
    def ok(self) -> bool:
        """True if every article was stored exactly once and correctly, and if nothing else was stored."""
        return not self.faults

    def rows(self) -> list[Sequence[object]]:
        """Return a table row for each source, and one row for the sum. The columns are :data:`COLUMNS`."""
        rows = [(source, *astuple(tally)) for source, tally in sorted(self.hosts.items())]
        return [*rows, ("all", *(sum(row[at] for row in rows) for at in range(1, len(COLUMNS))))]


def compare(articles: Iterable[Article], manifest: web.Manifest) -> Report:
    """Return the differences between the stored articles and the manifest.

    The articles may have any order.
    """
    report = Report()
    owners = {_key(address): expected for expected in manifest.articles for address in expected.addresses}
    stored: Counter[str] = Counter()
    for article in articles:
        owner = owners.get(_key(article.canonical_url)) or owners.get(_key(article.url))
        if owner is None:
            report.hosts[article.source].unexpected += 1
            report.faults.append(Fault("unexpected", article.canonical_url, article.title))
            continue
        stored[owner.url] += 1
        # Further copies are counted as "twice" below. Their content is not compared.
        if stored[owner.url] == 1:
            tally = report.hosts[article.source]
            tally.dated += article.to_dict()["published_at"] == owner.published
            faults = _wrong(article, owner)
            tally.wrong += len(faults)
            report.faults += faults
    for expected in manifest.articles:
        tally, count = report.hosts[expected.source], stored[expected.url]
        tally.expected += 1
        tally.once += count == 1
        tally.missing += count == 0
        tally.twice += count > 1
        if count != 1:
            detail = f"copies stored: {count}" if count else expected.title
            report.faults.append(Fault("twice" if count else "missing", expected.url, detail))
    return report


def _wrong(article: Article, expected: web.Expected) -> list[Fault]:
    """Return the first fault in the content of a stored article, or an empty list."""
    if _plain(article.title) != _plain(expected.title):
        return [Fault("wrong title", expected.url, f"{article.title!r} instead of {expected.title!r}")]
    words = len(article.text.split())
    if words < WORDS_SHARE * expected.words:
        return [Fault("wrong text", expected.url, f"{words} words instead of {expected.words}")]
    if _plain(expected.first_line)[:FIRST_LETTERS] not in _plain(article.text):
        return [Fault("wrong text", expected.url, f"begins {article.text[:FIRST_LETTERS]!r}")]
    return []


def _key(url: str) -> bytes:
    """Return the identity of a URL. For a text that is not a URL, return the text itself."""
    try:
        return fingerprint(canonicalize(url))
    except ValueError:
        return url.encode()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Judged:
    """The result for one kind of pairs of stored articles."""

    what: str
    pairs: int
    joined: int
    """Number of pairs that newsbot put into one story."""
    wrong: int
    """Number of pairs with a wrong result: different news in one story, or the same news in two stories."""


def judge(articles: Iterable[Article], manifest: web.Manifest) -> list[Judged]:
    """Compare the stories that newsbot has made from the articles with the stories in the manifest."""
    known = {_key(address): _key(one.url) for one in manifest.articles for address in one.addresses}
    keys = ((_key(one.canonical_url), one.story or one.canonical_url) for one in articles)
    story = {known.get(key, key): name for key, name in keys}
    source = {_key(one.url): one.source for one in manifest.articles}
    stories: defaultdict[str, list[bytes]] = defaultdict(list)
    for key, name in story.items():
        stories[name].append(key)
    joined = _pairs(stories.values())
    same = _pairs([key for url in group if (key := _key(url)) in story] for group in manifest.families)
    reports = _pairs([key for url in group if (key := _key(url)) in story] for group in manifest.templates)
    # Pairs of articles on the same site with the same news.
    at_home = {pair for pair in same if len({source.get(key) for key in pair}) == 1}
    kinds = (
        ("same news on another site", same - at_home, True),
        ("same news on the same site", at_home, True),
        ("same template, different numbers", reports, False),
        ("different news", joined - same - reports, False),
    )
    return [
        Judged(what, len(pairs), len(pairs & joined), len(pairs - joined if wanted else pairs & joined))
        for what, pairs, wanted in kinds
    ]


def _pairs(groups: Iterable[Iterable[bytes]]) -> set[_Pair]:
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


@dataclass(slots=True)
class Figures:
    """Counts of a request log."""

    requests: int = 0
    requests_by_kind: Counter[str] = field(default_factory=Counter)
    articles_fetched: int = 0
    """Number of articles that were sent completely.

    An article with several requested URLs is counted once.
    """
    pages_fetched: int = 0
    """Number of complete responses with status 200, without robots.txt, feeds, sitemaps and sections."""
    conditional_requests: int = 0
    """Number of requests with validators."""
    forbidden: list[str] = field(default_factory=list)
    """URLs that were requested although robots.txt disallows them."""

    @property
    def useful_share(self) -> float:
        """Share of articles among the fetched pages; 1 if no page was fetched."""
        return round(self.articles_fetched / self.pages_fetched, 4) if self.pages_fetched else 1.0


def count_log(log: Iterable[web.ServedRequest], manifest: web.Manifest) -> Figures:
    """Return the counts of a request log. ``manifest`` describes the web that was crawled."""
    figures = Figures()
    owners = {_key(address): article.url for article in manifest.articles for address in article.addresses}
    seen: set[str | None] = {None}
    for record in log:
        figures.requests += 1
        figures.requests_by_kind[record.kind] += 1
        figures.conditional_requests += record.conditional
        if record.kind == "forbidden":
            figures.forbidden.append(f"http://{record.host}{record.path}")
        if record.status == 200 and record.whole and record.kind not in _SOURCES:
            figures.pages_fetched += 1
            owner = owners.get(_key(f"http://{record.host}{record.path}"))
            # ``owner`` is None for a page without an article. ``seen`` contains None from the start, so such
            # a page is not counted.
            figures.articles_fetched += owner not in seen
            seen.add(owner)
    return figures


STATE_FILE = "demo.json"
SITE_FOLDER = "demo-site"
SHOWN_FAULTS = 10
STDERR = 2
"""File descriptor to which the crawl's stdout is redirected if our stdout is for JSON."""
CRAWL = (sys.executable, "-m", PROGRAM, "crawl", "news")


def demo(call: Call) -> int:
    """Serve the demo sites, crawl them, and compare the result with the manifest.

    The exit code is 0 only if every article is stored exactly once.
    """
    options = call.options
    folder = Path(options.data or tempfile.mkdtemp(prefix="newsbot-demo-")).expanduser().resolve()
    articles, now = _remembered(folder, options.articles)
    with _server(folder, articles, now) as server:
        if not call.json:
            hosts = counted(len(server.manifest.homes), "host")
            call.text(f"{counted(articles, 'article')} on {hosts} behind {server.address}")
        began = time.monotonic()
        code = _crawl(server, folder, as_json=call.json)
        seconds = time.monotonic() - began
        storage = open_storage({"NEWSBOT_DATA": str(folder)})
        try:
            report = compare(storage.articles.iter(), server.manifest)
            judged = judge(storage.articles.iter(), server.manifest)
        finally:
            storage.close()
        figures = count_log(server.log, server.manifest)
        good = code == 0 and report.ok and not figures.forbidden
        _show(call, folder, (report, judged), figures, code=code, seconds=seconds, good=good)
        if options.keep_serving:
            _keep_serving(call, server)
    return 0 if good else FAULT


def _remembered(folder: Path, articles: int | None) -> tuple[int, datetime]:
    """Return the number of articles and the time of the demo in ``folder``. For a new demo, store both first.

    The sites are generated from these two values, so a second run finds the same sites.
    """
    path = folder / STATE_FILE
    try:
        if path.exists():
            state = json.loads(path.read_text(encoding="utf-8"))
            known, now = int(state["articles"]), from_iso(state["now"])
            if articles not in (None, known):
                raise ArgumentError(
                    f"{folder} contains a demo with {counted(known, 'article')}; "
                    f"use --articles {known} or another folder"
                )
            return known, now or web.this_hour()
        articles, now = articles or web.DEFAULT_ARTICLES, web.this_hour()
        if not web.MIN_ARTICLES <= articles <= web.MAX_ARTICLES:
            raise ArgumentError(f"--articles {articles}: must be {web.MIN_ARTICLES} to {web.MAX_ARTICLES}")
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"articles": articles, "now": now.isoformat()}), encoding="utf-8")
    except OSError as error:
        raise DataUnavailable(f"{folder}: {error.strerror}; give --data another folder") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataUnavailable(
            f"{path}: was not written by {PROGRAM} demo; give --data another folder"
        ) from error
    return articles, now


def _server(folder: Path, articles: int, now: datetime) -> web.DemoServer:
    try:
        return web.DemoServer(folder / SITE_FOLDER, articles=articles, now=now)
    except OSError as error:
        raise DataUnavailable(f"{folder}: {error.strerror}; give --data another folder") from error


def _crawl(server: web.DemoServer, folder: Path, *, as_json: bool) -> int:
    """Run ``scrapy crawl`` as a child process with its output on this terminal. Return the exit code."""
    environment = {**os.environ, **server.crawl_environment, "NEWSBOT_DATA": str(folder)}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REDIS_URL", "MONGO_URI"):
        environment.pop(name, None)  # the demo must not use servers of the user
    sys.stdout.flush()  # in a pipe, the lines of the crawl would otherwise come first
    process = subprocess.Popen(  # noqa: S603  # the command contains no text from outside
        CRAWL, env=environment, stdout=STDERR if as_json else None
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # the crawl received the same Ctrl-C and is stopping
        raise


def _show(
    call: Call,
    folder: Path,
    found: tuple[Report, list[Judged]],
    figures: Figures,
    *,
    code: int,
    seconds: float,
    good: bool,
) -> None:
    report, judged = found
    if call.json:
        document = {
            "ok": good,
            "data": str(folder),
            "seconds": round(seconds, 2),
            "crawl_exit_code": code,
            "sites": dict(sorted(report.hosts.items())),
            "faults": report.faults,
        }
        call.document({**document, **plain(figures), "resemblance": judged})
        return
    call.text()
    call.table(COLUMNS, report.rows())
    call.text()
    if report.faults:
        faults = [(fault.what, fault.url, fault.detail) for fault in report.faults[:SHOWN_FAULTS]]
        call.table(columns("fault | article * | detail *"), faults)
        if len(report.faults) > SHOWN_FAULTS:
            call.text(f"… and {len(report.faults) - SHOWN_FAULTS} more (--json shows all)")
        call.text()
    call.table(STORY_COLUMNS, [astuple(one) for one in judged])
    call.text()
    kinds = [(kind or "other", count) for kind, count in figures.requests_by_kind.most_common()]
    call.table(columns("seen by the server | requests >"), kinds)
    call.text()
    call.text(
        f"useful share {100 * figures.useful_share:.1f} %: {counted(figures.articles_fetched, 'article')} "
        f"among {counted(figures.pages_fetched, 'page')} sent in full, without feeds, sitemaps and sections; "
        f"{counted(figures.requests, 'request')} in {seconds:.1f} s"
    )
    for url in figures.forbidden[:SHOWN_FAULTS]:
        call.text(f"requested although robots.txt forbids it: {url}")
    call.text(_verdict(code, good))
    call.text(f"data: {folder}; to see it, run:")
    call.text(f"export NEWSBOT_DATA={folder} NEWSBOT_RULES={folder / SITE_FOLDER}; {PROGRAM} sources")


def _verdict(code: int, good: bool) -> str:
    if good:
        return "every article was stored exactly once"
    return f"the crawl ended with exit code {code}" if code else "NOT every article was stored exactly once"


def _keep_serving(call: Call, server: web.DemoServer) -> None:
    call.note(
        f"still serving; set http_proxy={server.address} and open {server.manifest.homes[0]} (Ctrl-C ends)"
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        call.note("")


ACTIONS = (
    Action(
        "",
        "Serve six invented news sites on loopback, crawl them with the real spider, and check that "
        "every article was stored exactly once.",
        demo,
        Argument(
            "--articles",
            type=positive,
            metavar="N",
            help="number of articles (default 300, from 60)",
        ),
        Argument(
            "--data",
            metavar="DIR",
            help="folder of the data, new or from an earlier demo (default: a new one in /tmp)",
        ),
        Argument("--keep-serving", action="store_true", help="keep serving after the crawl, until Ctrl-C"),
    ),
)
