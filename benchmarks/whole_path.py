"""Articles per second over the whole path and the time of each step, compared with downloads by plain Scrapy.

A local web of many hosts serves the demo's articles (without its faults). Two crawls fetch the same pages in
the same run: ``newsbot`` with download, extraction, both duplicate checks and storage; and a bare Scrapy
spider that downloads the same pages and discards them. Each crawl runs in a process of its own. The
benchmark's own process is the server. On a machine with two cores, the server and the crawl each have one
core.

    python -m benchmarks.whole_path [--articles 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from testbed.demoweb.plan import make_plan
from testbed.demoweb.web import DemoWeb
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request

ROOT = Path(__file__).resolve().parent.parent
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STEPS = (
    "lease",
    "feed",
    "judge",
    "queue",
    "parse",
    "extract",
    "dedup_exact",
    "dedup_near",
    "store",
    "settle",
)
BARE = """
import json, sys, scrapy
from scrapy.crawler import CrawlerProcess

urls, stats_file = json.load(open(sys.argv[1])), sys.argv[2]

class Bare(scrapy.Spider):
    name = "bare"
    start_urls = urls
    custom_settings = {
        "CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False, "COOKIES_ENABLED": False,
    }
    def parse(self, response):
        pass

process = CrawlerProcess({"LOG_LEVEL": "ERROR"})
crawler = process.create_crawler(Bare)
process.crawl(crawler)
process.start()
json.dump(crawler.stats.get_stats(), open(stats_file, "w"), default=str)
"""


class ArticleWeb:
    """Articles and one feed per host. All answers are made before the start."""

    def __init__(self, articles: int) -> None:
        plan = make_plan(articles, now=NOW)
        web = DemoWeb(plan)
        self.pages: dict[tuple[str, str], Answer] = {}
        self.urls: dict[str, list[str]] = defaultdict(list)
        for paper in plan.papers:
            request = Request("GET", paper.host.ascii, paper.path, {})
            answer = web(request)
            if answer.status == 200 and not paper.fault:
                self.pages[request.host, request.path] = answer
                self.urls[request.host].append(f"http://{request.host}{request.path}")
        for host, urls in self.urls.items():
            items = "".join(
                f"<item><title>{urlsplit(url).path}</title><link>{url.replace('&', '&amp;')}</link></item>"
                for url in urls
            )
            body = f"<rss version='2.0'><channel><title>x</title>{items}</channel></rss>".encode()
            self.pages[host, "/bench.xml"] = Answer(
                body=body, headers={"Content-Type": "application/rss+xml"}
            )

    def __call__(self, request: Request) -> Answer:
        """Answer from memory."""
        return self.pages.get((request.host, request.path)) or Answer(status=404)

    def write_rules(self, folder: Path) -> None:
        """Write a rule for each host."""
        folder.mkdir()
        (folder / "_defaults.yaml").write_text("delay: 0\nconcurrency: 32\n", encoding="utf8")
        for host in self.urls:
            rule = f"domain: {host}\nfeeds: http://{host}/bench.xml\nfollow: [feeds]\n"
            (folder / f"{host}.yaml").write_text(rule, encoding="utf8")


def measure(articles: int) -> list[dict[str, Any]]:
    """Run both crawls; return one row for each."""
    web = ArticleWeb(articles)
    with tempfile.TemporaryDirectory() as name, LoopbackServer(web) as server:
        folder = Path(name)
        web.write_rules(folder / "rules")
        environment = {**os.environ, **server.environment}
        bare = _run_bare(web, folder, environment)
        ours = _run_newsbot(folder, environment)
    return [_bare_row(bare), _newsbot_row(ours)]


def _run_bare(web: ArticleWeb, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    (folder / "bare.py").write_text(BARE, encoding="utf8")
    (folder / "urls.json").write_text(json.dumps([url for urls in web.urls.values() for url in urls]))
    command = [sys.executable, str(folder / "bare.py"), str(folder / "urls.json"), str(folder / "bare.json")]
    subprocess.run(command, env=environment, check=True, cwd=folder)
    return dict(json.loads((folder / "bare.json").read_text()))


def _run_newsbot(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    own = {"NEWSBOT_DATA": str(folder / "data"), "NEWSBOT_RULES": str(folder / "rules")}
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "news",
        "-s",
        f"NEWSBOT_STATS_FILE={folder / 'ours.json'}",
    ]
    subprocess.run(
        [*command, "-s", "NEWSBOT_PROGRESS=0", "-L", "ERROR"],
        env={**environment, **own},
        check=True,
        cwd=ROOT,
    )
    return dict(json.loads((folder / "ours.json").read_text()))


def _bare_row(stats: dict[str, Any]) -> dict[str, Any]:
    pages, seconds = stats["response_received_count"], stats["elapsed_time_seconds"]
    return {"crawler": "scrapy, download only", "pages": pages, "articles": 0, "seconds": seconds,
            "per_second": pages / seconds}  # fmt: skip


def _newsbot_row(stats: dict[str, Any]) -> dict[str, Any]:
    articles, seconds = stats["newsbot/articles/new"], stats["elapsed_time_seconds"]
    row = {"crawler": "newsbot, whole path", "pages": stats["response_received_count"], "articles": articles,
           "seconds": seconds, "per_second": articles / seconds}  # fmt: skip
    taken = {step: stats.get(f"newsbot/time/{step}", 0.0) for step in STEPS}
    taken["settle"] -= taken["judge"] + taken["queue"]  # parts of this step, except for the first sources
    shares = {step: max(0.0, time) / seconds for step, time in taken.items()}
    shares["download and Scrapy"] = 1 - sum(shares.values())
    return {**row, "share": shares}


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"{'crawler':24}{'pages':>8}{'articles':>10}{'seconds':>9}{'per second':>11}")
    for row in rows:
        print(
            f"{row['crawler']:24}{row['pages']:8}{row['articles']:10}{row['seconds']:9.1f}{row['per_second']:11.1f}"
        )
    print(f"\nratio: {rows[1]['per_second'] / rows[0]['per_second']:.2f} of bare Scrapy's pages per second")
    print("\nshare of newsbot's time")
    for step, share in sorted(rows[1]["share"].items(), key=lambda item: -item[1]):
        print(f"  {step:20}{share:7.1%}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.articles)
    if options.json:
        print(json.dumps(rows))
    else:
        _print(rows)


if __name__ == "__main__":
    main()
