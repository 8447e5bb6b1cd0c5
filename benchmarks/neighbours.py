"""Crawl rate of a normal site beside hosts that never answer: ``python -m benchmarks.neighbours``.

One feed lists 400 pages that never answer. They are on subdomains of one domain, or each page is on a
different domain. Another feed lists the articles of a normal site. One worker with default settings reads
both. The rate is the number of requests for articles of the normal site per second, counted from the first to
the last of these requests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.demoweb.messages import Answer, Request

SILENT = 400
SECONDS = 0.5
"""Response time of the normal site, in seconds."""
GIVE_UP = 180.0
DEFAULTS = "delay: 0\nconcurrency: 4\n"
HTML = {"Content-Type": "text/html; charset=utf-8"}
NEIGHBOURS = {"alone": "", "subdomains": "http://s{}.silent.test/a", "domains": "http://silent{}.test/a"}


def article(number: int) -> str:
    """Return a page that is not similar to the page of any other number."""
    text = "".join(f"<p>{' '.join(f'word{number}x{part}x{n}' for n in range(40))}.</p>" for part in range(5))
    return (
        f"<html><head><title>Story {number}</title></head><body><h1>Story {number}</h1>{text}</body></html>"
    )


def feed(urls: list[str]) -> bytes:
    """Return an RSS feed."""
    items = "".join(f"<item><title>Story {n}</title><link>{url}</link></item>" for n, url in enumerate(urls))
    return f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'.encode()


class Web:
    """The normal site, and the neighbour, whose links have the form ``silent``."""

    def __init__(self, articles: int, silent: str) -> None:
        honest = feed([f"http://honest.test/news/story-{n}" for n in range(articles)])
        self._feeds = {"honest.test": honest, "lister.test": feed([silent.format(n) for n in range(SILENT)])}
        self.asked: list[float] = []

    def answer(self, request: Request) -> Answer:
        """Answer one request."""
        if request.path == "/robots.txt" and "silent" not in request.host:
            return Answer(status=404)
        if request.path == "/feed.xml":
            xml = {"Content-Type": "application/rss+xml"}
            late = 2.0 if request.host == "honest.test" else 0.0  # the neighbour gets the slots first
            return Answer(body=self._feeds[request.host], headers=xml, delay=late)
        if request.host == "honest.test":
            self.asked.append(time.monotonic())
            page = article(int(request.path.rpartition("-")[2]))
            return Answer(body=page.encode(), headers=HTML, delay=SECONDS)
        return Answer(delay=3600.0)


def rate(articles: int, silent: str) -> float:
    """Return the articles per second that are read from the normal site."""
    web = Web(articles, silent)
    with tempfile.TemporaryDirectory() as name, LoopbackServer(web.answer) as server:
        rules = Path(name) / "rules"
        rules.mkdir()
        (rules / "_defaults.yaml").write_text(DEFAULTS)
        for host in ("honest.test", *(["lister.test"] if silent else [])):
            (rules / f"{host}.yaml").write_text(f"domain: {host}\nfeeds: http://{host}/feed.xml\n")
        environment = {**os.environ, **server.environment, "NEWSBOT_DATA": name, "NEWSBOT_RULES": str(rules)}
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "--loglevel", "ERROR"]
        worker = subprocess.Popen(command, env=environment)
        end = time.monotonic() + GIVE_UP
        while len(web.asked) < articles and time.monotonic() < end and worker.poll() is None:
            time.sleep(0.05)
        worker.kill()
        worker.wait()
    if len(web.asked) < articles:
        return len(web.asked) / GIVE_UP
    return (articles - 1) / (web.asked[-1] - web.asked[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rates = {name: rate(options.articles, silent) for name, silent in NEIGHBOURS.items()}
    if options.json:
        alone = rates["alone"]
        rows = [
            {"neighbours": name, "articles_per_second": round(one, 2), "of_alone": round(one / alone, 2)}
            for name, one in rates.items()
        ]
        print(json.dumps(rows))
        return
    for name, one in rates.items():
        print(f"{name:<12} {one:>8.2f} articles/s {one / rates['alone']:>6.2f} of alone")


if __name__ == "__main__":
    main()
