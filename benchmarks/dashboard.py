"""How fast the pages of the dashboard load with many articles: server response and browser paint.

Fills a data file with generated articles (60 words each, 300 sites, 30 days, every tenth in a story of two),
hourly activity of the sites, and 100,000 waiting URLs. Then starts ``scrapy serve`` on it and requests each
page. ``first``: the first request for that page after the start; ``median`` and ``p95``: of 20 more requests;
``CPU``: processor time of the server per request, which is stable on a busy machine (resolution: half a
millisecond); ``paint``: first contentful paint in headless Chromium after the click, median of 5; ``KB``:
size before compression. At its start the server counts articles in the background; the
duration is printed to stderr.

    python -m benchmarks.dashboard [--articles 100000] [--data DIR] [--json]

With ``--data`` an existing folder is used again; waiting articles are indexed first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

from benchmarks.servers import process_seconds
from benchmarks.texts import vocabulary
from newsbot.backends import searching
from newsbot.frontier.base import Entry
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Article, Kind
from newsbot.storage.sources import HOUR, SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.upkeep import ArticleCopy
from newsbot.urls import fingerprint

SITES, DAYS, WORDS = 300, 30, 60
WAITING = 100_000
ASKED, PAINTED = 20, 5
BATCH = 2000
Row = dict[str, Any]


def site(number: int) -> str:
    """Return the domain of a site."""
    return f"site{number % SITES}.example"


def address(number: int) -> str:
    """Return the URL of an article."""
    return f"https://{site(number)}/2026/11/story-{number}.html"


def make(number: int, count: int, now: datetime, chance: random.Random) -> ArticleCopy:
    """Return an article. The articles are spread evenly over the days before ``now``."""
    words, weights = vocabulary()
    drawn = chance.choices(words, cum_weights=weights, k=WORDS)
    fetched = now - timedelta(seconds=DAYS * 86400 * (count - number) / count)
    article = Article(
        url=address(number),
        canonical_url=address(number),
        source=site(number),
        title=" ".join(drawn[:8]),
        text=" ".join(drawn),
        language="ru" if number % 3 else "en",
        published_at=fetched - timedelta(minutes=chance.randrange(1, 90)),
        published_precision="minute",
        fetched_at=fetched,
        content_hash=f"{number:x}",
        story=f"{number // 20:032x}" if number % 20 < 2 else None,
        extraction={"text": "trafilatura", "title": "json-ld"},
    )
    return ArticleCopy(fingerprint(article.canonical_url), article, ())


def fill(folder: Path, count: int) -> None:
    """Write all data of the benchmark."""
    chance = random.Random(1)
    now = datetime.now(UTC)
    storage = SqliteStorage(folder / "newsbot.db")
    for start in range(0, count, BATCH):
        some = range(start, min(count, start + BATCH))
        storage.load.articles([make(number, count, now, chance) for number in some])
    storage.close()
    fill_books(folder, count, now)


def finish_index(folder: Path) -> None:
    """Index the articles that wait for it."""
    began = time.perf_counter()
    with searching({"NEWSBOT_DATA": str(folder)}) as search:
        search.follow()
    sys.stderr.write(f"indexed in {time.perf_counter() - began:.0f} s\n")


def fill_books(folder: Path, count: int, now: datetime) -> None:
    """Write the activity and the sources of sites, and the waiting URLs."""
    storage = SqliteStorage(folder / "newsbot.db")
    hourly = max(1, count // (DAYS * 24 * SITES))
    for hour in range(DAYS * 24):
        counters = {
            "fetched": 3 * hourly,
            "pages": 2 * hourly,
            "article_pages": 2 * hourly,
            "articles": hourly,
        }
        at = now.timestamp() - hour * HOUR
        storage.activity.add(at, {site(number): counters for number in range(SITES)})
    for number in range(SITES):
        storage.sites.add(SiteRecord(source=site(number), counters={"pages": 9.0, "article_pages": 8.0}))
    storage.sources.save(
        SourceRecord(
            url=f"https://{site(number)}/feed{number}.xml", source=site(number), kind=Kind.FEED, polls=9
        )
        for number in range(4 * SITES)
    )
    storage.close()
    frontier = SqliteFrontier(folder / "newsbot.db")
    for start in range(0, WAITING, BATCH):
        urls = [f"https://{site(number)}/wait/{number}" for number in range(start, start + BATCH)]
        frontier.add([_entry(url) for url in urls])
    frontier.close()


def _entry(url: str) -> Entry:
    return Entry(url=url, fingerprint=fingerprint(url), host=url.split("/")[2], kind=Kind.ARTICLE)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """Run ``scrapy serve`` within the block; yield its address and process."""
    rules = folder / "rules"
    rules.mkdir(exist_ok=True)
    (rules / "site0.example.yaml").write_text("domain: site0.example\n")
    environment = os.environ | {"NEWSBOT_DATA": str(folder), "NEWSBOT_RULES": str(rules)}
    command = [sys.executable, "-m", "scrapy", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = ""
        while "listening on " not in line:
            line = process.stderr.readline()
            if not line:
                raise SystemExit("scrapy serve ended at once")
        yield line.split()[-1], process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def pages(count: int) -> dict[str, str]:
    """Return the pages to request, by name."""
    words, _ = vocabulary()
    phrase = quote(f'"{words[0]} {words[1]}"')
    return {
        "log-in form, no data": "/login",
        "news": "/",
        "crawl": "/crawl",
        "sources": "/sources",
        "one site": f"/sources/{site(0)}",
        "articles, newest": "/articles",
        "articles of a site": f"/articles?source={site(7)}",
        "articles, rare word": f"/articles?q={quote(words[-1])}",
        "articles, two words": f"/articles?q={quote(words[300])}+{quote(words[700])}",
        "articles, three of the most frequent": f"/articles?q={quote(' '.join(words[:3]))}",
        "articles, a frequent phrase": f"/articles?q={phrase}",
        "articles, word of a site": f"/articles?q={quote(words[20])}&source={site(7)}",
        "articles of a site, language": f"/articles?source={site(7)}&language=en",
        "articles, word, newest first": f"/articles?q={quote(words[20])}&sort=time",
        "one article": f"/article?url={quote(address(count // 2), safe='')}",
        "stories": "/stories",
        "why": f"/why?url={quote(address(count // 2), safe='')}",
        "API, rare word": f"/api/articles?q={quote(words[-1])}",
        "API, word in nearly every article": f"/api/articles?q={quote(words[0])}",
        "API, frequent phrase": f"/api/articles?q={phrase}",
        "metrics": "/metrics",
    }


def ask(url: str) -> tuple[float, int]:
    """Return the seconds until the response is complete, and its bytes."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            size = len(answer.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.code} {error.read()[-400:]!r}") from error
    return time.perf_counter() - began, size


def measure(count: int, folder: Path) -> list[Row]:
    """Return a row for each page."""
    rows = []
    with serving(folder) as (base, server), sync_playwright() as playwright:
        _await_first_count(base)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in pages(count).items():
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
    """Wait until the server has counted; print the time to stderr, as it is not the cost of a single page."""
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
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as own:
        folder = options.data or Path(own)
        if not (folder / "newsbot.db").exists():
            folder.mkdir(parents=True, exist_ok=True)
            began = time.perf_counter()
            fill(folder, options.articles)
            sys.stderr.write(f"filled in {time.perf_counter() - began:.0f} s\n")
        finish_index(folder)
        rows = measure(options.articles, folder)
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
