"""Workers that are killed repeatedly: ``python -m benchmarks.kills [--kills 50] [--delay 0.2]``.

Two workers read one site on one data file. At random moments one of them is killed (SIGKILL) and restarted.
At the end, both workers finish their work. The benchmark counts missing articles and URLs that were set
aside. In the log of the server, it also counts intervals between two requests that are shorter than 90 % of
the delay.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.demoweb.messages import Answer, Request
from benchmarks.neighbours import HTML, article, feed

WORKERS = 2
BETWEEN = (1.0, 5.0)
"""Seconds between two kills."""
ANSWER = 0.05
"""Response time of the site, in seconds."""
ASIDE = "SELECT count(*) FROM frontier_urls WHERE state = 'aside' OR lost > 0"
STORED = "SELECT count(*) FROM article"


def measure(kills: int, delay: float, articles: int, seed: int) -> dict[str, float]:
    """Return the row of one run."""
    drawn = random.Random(seed)
    urls = [f"http://killed.test/news/story-{number}" for number in range(articles)]

    def answer(request: Request) -> Answer:
        if request.path == "/robots.txt":
            return Answer(status=404)
        if request.path == "/feed.xml":
            return Answer(body=feed(urls), headers={"Content-Type": "application/rss+xml"})
        return Answer(body=article(int(request.path.rpartition("-")[2])).encode(), headers=HTML, delay=ANSWER)

    with tempfile.TemporaryDirectory() as name, LoopbackServer(answer) as server:
        rules = Path(name) / "rules"
        rules.mkdir()
        text = f"domain: killed.test\nfeeds: http://killed.test/feed.xml\ndelay: {delay}\nconcurrency: 1\n"
        (rules / "killed.test.yaml").write_text(text)
        environment = {**os.environ, **server.environment, "NEWSBOT_DATA": name, "NEWSBOT_RULES": str(rules)}
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "--loglevel", "ERROR"]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, env=environment)

        workers = [start() for _ in range(WORKERS)]
        for _ in range(kills):
            time.sleep(drawn.uniform(*BETWEEN))
            place = drawn.randrange(WORKERS)
            workers[place].kill()
            workers[place].wait()
            workers[place] = start()
        for worker in workers:
            worker.wait()
        with sqlite3.connect(Path(name) / "newsbot.db") as database:
            (aside,) = database.execute(ASIDE).fetchone()
            (stored,) = database.execute(STORED).fetchone()
        arrivals = sorted(record.at for record in server.log)
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    short = sum(gap < 0.9 * delay for gap in gaps)
    return {
        "kills": kills,
        "delay": delay,
        "missing": articles - stored,
        "aside": aside,
        "gaps": len(gaps),
        "short_gaps": short,
        "shortest": round(min(gaps), 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--articles", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.kills, options.delay, options.articles, options.seed)
    print(json.dumps([row]) if options.json else "\n".join(f"{name:<12} {n}" for name, n in row.items()))


if __name__ == "__main__":
    main()
