"""``scrapy demo``: crawls the demo sites that come with newsbot and checks the stored articles.

The articles are compared with the manifest, which lists every article that the demo sites publish.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, astuple
from datetime import datetime
from pathlib import Path
from typing import Any

from newsbot.backends import open_storage
from newsbot.cli.command import FAULT, Call
from newsbot.cli.terminal import Column, counted
from newsbot.clock import from_iso
from newsbot.demo.check import COLUMNS, STORY_COLUMNS, Figures, Judged, Report, compare, count_log, judge
from newsbot.demo.publishing import MAX_ARTICLES, MIN_ARTICLES
from newsbot.demo.server import DEFAULT_ARTICLES, DemoServer, this_hour
from newsbot.errors import ArgumentError, DataUnavailable

STATE_FILE = "demo.json"
SITE_FOLDER = "demo-site"
SHOWN_FAULTS = 10
STDERR = 2
"""File descriptor to which the crawl's stdout is redirected if our stdout is for JSON."""
CRAWL = (sys.executable, "-m", "scrapy", "crawl", "news")


def demo(call: Call) -> int:
    """Serve the demo sites, crawl them, and compare. The exit code is 0 only if every article is stored
    exactly once."""
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
        _tell(call, folder, (report, judged), figures, code=code, seconds=seconds, good=good)
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
            return known, now or this_hour()
        articles, now = articles or DEFAULT_ARTICLES, this_hour()
        if not MIN_ARTICLES <= articles <= MAX_ARTICLES:
            raise ArgumentError(f"--articles {articles}: must be {MIN_ARTICLES} to {MAX_ARTICLES}")
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"articles": articles, "now": now.isoformat()}), encoding="utf-8")
    except OSError as error:
        raise DataUnavailable(f"{folder}: {error.strerror}; give --data another folder") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataUnavailable(
            f"{path}: was not written by scrapy demo; give --data another folder"
        ) from error
    return articles, now


def _server(folder: Path, articles: int, now: datetime) -> DemoServer:
    try:
        return DemoServer(folder / SITE_FOLDER, articles=articles, now=now)
    except OSError as error:
        raise DataUnavailable(f"{folder}: {error.strerror}; give --data another folder") from error


def _crawl(server: DemoServer, folder: Path, *, as_json: bool) -> int:
    """Run ``scrapy crawl`` as a child process with the output on this terminal; return its exit code."""
    environment = {**os.environ, **server.crawl_environment, "NEWSBOT_DATA": str(folder)}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REDIS_URL", "MONGO_URI"):
        environment.pop(name, None)  # the demo must not touch servers of the user
    sys.stdout.flush()  # otherwise, in a pipe, the lines of the crawl would come first
    process = subprocess.Popen(  # noqa: S603  # nothing in the command comes from outside
        CRAWL, env=environment, stdout=STDERR if as_json else None
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # the crawl received the same Ctrl-C and is stopping
        raise


def _tell(
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
        document = _as_document(folder, report, figures, code=code, seconds=seconds, good=good)
        call.document({**document, "resemblance": [asdict(one) for one in judged]})
        return
    call.text()
    numbers = [Column(title, "right") for title in COLUMNS[1:]]
    call.table([Column(COLUMNS[0]), *numbers], report.rows())
    call.text()
    if report.faults:
        faults = [(fault.what, fault.url, fault.detail) for fault in report.faults[:SHOWN_FAULTS]]
        call.table([Column("fault"), Column("article", wide=True), Column("detail", wide=True)], faults)
        if len(report.faults) > SHOWN_FAULTS:
            call.text(f"… and {len(report.faults) - SHOWN_FAULTS} more (--json shows all)")
        call.text()
    numbers = [Column(title, "right") for title in STORY_COLUMNS[1:]]
    call.table([Column(STORY_COLUMNS[0]), *numbers], [astuple(one) for one in judged])
    call.text()
    kinds = [(kind or "other", count) for kind, count in figures.by_kind.most_common()]
    call.table([Column("seen by the server"), Column("requests", "right")], kinds)
    call.text()
    call.text(
        f"useful share {100 * figures.useful_share:.1f} %: {counted(figures.articles, 'article')} among "
        f"{counted(figures.pages, 'page')} sent in full, without feeds, sitemaps and sections; "
        f"{counted(figures.requests, 'request')} in {seconds:.1f} s"
    )
    for url in figures.forbidden[:SHOWN_FAULTS]:
        call.text(f"requested although robots.txt forbids it: {url}")
    call.text(_verdict(code, good))
    call.text(f"data: {folder}; to see it, run:")
    call.text(f"export NEWSBOT_DATA={folder} NEWSBOT_RULES={folder / SITE_FOLDER}; scrapy sources")


def _verdict(code: int, good: bool) -> str:
    if good:
        return "every article was stored exactly once"
    return f"the crawl ended with exit code {code}" if code else "NOT every article was stored exactly once"


def _as_document(
    folder: Path, report: Report, figures: Figures, *, code: int, seconds: float, good: bool
) -> dict[str, Any]:
    return {
        "ok": good,
        "data": str(folder),
        "seconds": round(seconds, 2),
        "crawl_exit_code": code,
        "sites": {source: asdict(tally) for source, tally in sorted(report.hosts.items())},
        "faults": [asdict(fault) for fault in report.faults],
        "useful_share": round(figures.useful_share, 4),
        "articles_fetched": figures.articles,
        "pages_fetched": figures.pages,
        "requests": figures.requests,
        "requests_by_kind": dict(figures.by_kind),
        "conditional_requests": figures.conditional,
        "forbidden": figures.forbidden,
    }


def _keep_serving(call: Call, server: DemoServer) -> None:
    call.note(
        f"still serving; set http_proxy={server.address} and open {server.manifest.homes[0]} (Ctrl-C ends)"
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        call.note("")
