"""How fast the pages of the dashboard load with many articles: server response and browser paint.

Fills a data file with articles (benchmarks/searchtexts.py), hourly activity of the sites, and 100,000 waiting
URLs. Then starts ``scrapy serve`` with this file and requests each page. The columns are:

* ``first``: duration of the first request for the page after the start
* ``median``, ``p95``: median and 95th percentile of the duration of 20 more requests
* ``CPU``: processor time of the server per request, in steps of half a millisecond. It is stable on a busy
  machine
* ``paint``: time from the click to the first contentful paint in headless Chromium, median of 5
* ``KB``: size of the page before compression

When the server starts, it counts the articles in the background. The duration is printed to stderr.

    python -m benchmarks.dashboard [--articles 100000] [--sentences 5] [--corpus FILE] [--data DIR] [--json]

``--data``: use an existing folder again, for example one of ``benchmarks.search``. Articles that are not
indexed yet are indexed first. ``--corpus``: a .jsonl.gz file with a ``text`` in each line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

from benchmarks.searchtexts import SITES, Texts, site_name
from newsbot.apps.search.articles import searching
from newsbot.apps.transfer.copies import ArticleCopy, copies_of
from newsbot.backends import open_frontier, open_storage
from newsbot.frontier.base import Entry
from newsbot.items import Kind
from newsbot.storage.base import HOUR, SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import fingerprint
from testbed.temporary import process_seconds

DAYS = 30
WAITING = 100_000
ASKED, PAINTED = 20, 5
BATCH = 2000
Row = dict[str, Any]
Settings = dict[str, str]


def fill(folder: Path, count: int, texts: Texts) -> None:
    """Write the articles."""
    storage = SqliteStorage(folder / "newsbot.db")
    for start in range(0, count, BATCH):
        some = texts.articles(start, min(count, start + BATCH))
        copies_of(storage).write(
            "articles", [ArticleCopy(fingerprint(one.canonical_url), one, ()) for one in some]
        )
    storage.close()


def finish_index(settings: Settings) -> None:
    """Index the articles that are not indexed yet."""
    began = time.perf_counter()
    with searching(settings) as search:
        search.follow()
    sys.stderr.write(f"indexed in {time.perf_counter() - began:.0f} s\n")


def fill_books(settings: Settings, count: int) -> None:
    """Write the activity and the sources of sites, and the waiting URLs, if they are missing."""
    now = datetime.now(UTC)
    storage = open_storage(settings)
    if storage.sources.all():
        storage.close()
        return
    hourly = max(1, count // (DAYS * 24 * SITES))
    for hour in range(DAYS * 24):
        counters = {
            "fetched": 3 * hourly,
            "pages": 2 * hourly,
            "article_pages": 2 * hourly,
            "articles": hourly,
        }
        at = now.timestamp() - hour * HOUR
        storage.activity.add(at, {site_name(number): counters for number in range(SITES)})
    for number in range(SITES):
        storage.sites.add(
            [SiteRecord(source=site_name(number), counters={"pages": 9.0, "article_pages": 8.0})]
        )
    storage.sources.save(
        SourceRecord(
            url=f"https://{site_name(number % SITES)}/feed{number}.xml",
            source=site_name(number % SITES),
            kind=Kind.FEED,
            polls=9,
        )
        for number in range(4 * SITES)
    )
    storage.close()
    frontier = open_frontier(settings)
    for start in range(0, WAITING, BATCH):
        urls = [
            f"https://{site_name(number % SITES)}/wait/{number}" for number in range(start, start + BATCH)
        ]
        frontier.add([_entry(url) for url in urls])
    frontier.close()


def _entry(url: str) -> Entry:
    return Entry(url=url, fingerprint=fingerprint(url), host=url.split("/")[2], kind=Kind.ARTICLE)


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[str, int]]:
    """Run ``scrapy serve`` within the block; yield its address and process."""
    rules = Path(settings["NEWSBOT_DATA"]) / "rules"
    rules.mkdir(exist_ok=True)
    (rules / f"{site_name(0)}.yaml").write_text(f"domain: {site_name(0)}\n")
    environment = os.environ | settings | {"NEWSBOT_RULES": str(rules)}
    command = [sys.executable, "-m", "scrapy", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = ""
        while "listening on " not in line:
            line = process.stderr.readline()
            if not line:
                raise SystemExit("scrapy serve ended immediately")
        yield line.split()[-1], process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def pages(count: int, texts: Texts) -> dict[str, str]:
    """Return the pages to request, by name."""
    words = texts.by_frequency
    one = quote(texts.article(count // 2).canonical_url, safe="")
    rare, site = quote(words[8000]), site_name(7)
    phrase = quote(f'"{words[0]} {words[1]}"')
    return {
        "log-in form, no data": "/login",
        "news": "/",
        "crawl": "/crawl",
        "sources": "/sources",
        "one site": f"/sources/{site_name(0)}",
        "articles, newest": "/articles",
        "articles of a site": f"/articles?source={site}",
        "articles, rare word": f"/articles?q={rare}",
        "articles, two words": f"/articles?q={quote(words[300])}+{quote(words[700])}",
        "articles, three of the most frequent": f"/articles?q={quote(' '.join(words[:3]))}",
        "articles, a frequent phrase": f"/articles?q={phrase}",
        "articles, word of a site": f"/articles?q={quote(words[20])}&source={site}",
        "articles of a site, language": f"/articles?source={site}&language=en",
        "articles, word, best first": f"/articles?q={quote(words[20])}&sort=rank",
        "attention to two words": f"/attention?q={quote(words[300])}&q={quote(words[700])}",
        "one article": f"/article?url={one}",
        "stories": "/stories",
        "saved": "/saved",
        "why": f"/why?url={one}",
        "API, rare word": f"/api/articles?q={rare}",
        "API, word in nearly every article": f"/api/articles?q={quote(words[0])}",
        "API, frequent phrase": f"/api/articles?q={phrase}",
        "metrics": "/metrics",
    }


def ask(url: str) -> tuple[float, int]:
    """Return the seconds until the response is complete, and its size in bytes."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            size = len(answer.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.code} {error.read()[-400:]!r}") from error
    return time.perf_counter() - began, size


def measure(count: int, settings: Settings, texts: Texts) -> list[Row]:
    """Return a row for each page."""
    rows = []
    with serving(settings) as (base, server), sync_playwright() as playwright:
        _await_first_count(base)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in pages(count, texts).items():
            first, size = ask(base + path)
            before = process_seconds(server)
            times = [ask(base + path)[0] for _ in range(ASKED)]
            used = (process_seconds(server) - before) / ASKED
            row = {"articles": count, "page": name, "KB": round(size / 1000, 1), "first_ms": _ms(first)}
            row |= {"median_ms": _ms(median(times)), "p95_ms": _ms(quantiles(times, n=20)[-1])}
            row["cpu_ms"] = _ms(used)
            painted = None if path.startswith(("/api", "/metrics")) else _paint(browser, base + path)
            rows.append(row | {"paint_ms": painted})
        browser.close()
    return rows


def _await_first_count(base: str) -> None:
    """Wait until the server has counted the articles; print the duration to stderr."""
    began = time.perf_counter()
    while True:
        try:
            for path in ("/api/overview", "/api/news", "/api/sources", "/api/stories", "/metrics"):
                ask(base + path)
        except SystemExit:
            time.sleep(0.2)
        else:
            sys.stderr.write(f"counted after {time.perf_counter() - began:.1f} s\n")
            return


def _paint(browser: Browser, url: str) -> int:
    found = []
    for _ in range(PAINTED):
        page = browser.new_page(bypass_csp=True)  # otherwise evaluate() is blocked
        page.goto(url)
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        found.append(
            float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        )
        page.close()
    return round(median(found))


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", type=int, default=100_000)
    parser.add_argument("--sentences", type=int, default=5, help="length of an article; 5 are 90 words")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as own:
        folder = options.data or Path(own)
        texts = Texts(options.corpus, options.articles, options.sentences)
        if not (folder / "newsbot.db").exists():
            folder.mkdir(parents=True, exist_ok=True)
            began = time.perf_counter()
            fill(folder, options.articles, texts)
            sys.stderr.write(f"filled in {time.perf_counter() - began:.0f} s\n")
        settings = {"NEWSBOT_DATA": str(folder)}
        fill_books(settings, options.articles)
        finish_index(settings)
        rows = measure(options.articles, settings, texts)
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'page':<38}{'KB':>7}{'first ms':>10}{'median ms':>11}{'p95 ms':>9}{'CPU ms':>8}{'paint ms':>10}")
    for row in rows:
        shown = [row[name] for name in ("KB", "first_ms", "median_ms", "p95_ms", "cpu_ms")]
        last = "-" if row["paint_ms"] is None else row["paint_ms"]
        print(
            f"{row['page']:<38}{shown[0]:>7}{shown[1]:>10}{shown[2]:>11}{shown[3]:>9}{shown[4]:>8}{last:>10}"
        )


if __name__ == "__main__":
    main()
