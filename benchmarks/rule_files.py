"""The cost of many imported rules: ``python -m benchmarks.rule_files [N] [--redis URL]``.

Makes N site files in the format of ftr-site-config (default: 2,000), imports them with
``scrapy rules import ftr``, and measures how long the rules take to load, and how long a crawl takes until
all its sources are queued. Each measurement runs in a process of its own. The benchmark sends no requests to
sites.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import redis

TURNS = 3
_LOAD = """
import sys, time
from pathlib import Path
from newsbot.pages.rules import load_rules
began, cpu = time.perf_counter(), time.process_time()
load_rules(Path(sys.argv[1]))
print(time.perf_counter() - began, time.process_time() - cpu)
"""
_START = """
import time
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.project import get_project_settings
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.seeds import seeds
from newsbot.spiders.news import NewsSpider
crawler = Crawler(NewsSpider, get_project_settings())
crawler.stats, crawler.spider = MemoryStatsCollector(crawler), NewsSpider()
began, cpu = time.perf_counter(), time.process_time()
crawl = Crawl.of(crawler)
crawl.open()
for found in seeds(crawl.context, crawl.scope):
    crawl.links.queue(found)
print(time.perf_counter() - began, time.process_time() - cpu)
crawl.close()
"""
_NAMES = ("article", "content", "story", "main", "body", "entry", "byline", "share", "promo")


def site_file(number: int) -> str:
    """Return one site file of about 14 lines, like those of the collection."""
    chance = random.Random(number)

    def name() -> str:
        end = chance.choice(["", "__inner", f"--{number}"])
        return f"{chance.choice(_NAMES)}-{chance.choice(_NAMES)}{end}"

    def path() -> str:
        element = chance.choice(["div", "p", "span", "section", "aside", "h1"])
        return chance.choice(
            [
                f"//{element}[@class='{name()}']",
                f"//{element}[contains(@class, '{name()}')]",
                f'//{element}[@id="{name()}"]',
                f"//{element}[contains(concat(' ',normalize-space(@class),' '),' {name()} ')]",
                f"//{element}[@class='{name()}']//a",
            ]
        )

    lines = [f"title: {path()}", *(f"body: {path()}" for _ in range(chance.randint(1, 3)))]
    lines += [f"author: {path()}"] * chance.randint(0, 1) + [f"date: {path()}"] * chance.randint(0, 1)
    lines += [f"strip: {path()}" for _ in range(chance.randint(0, 8))]
    lines += [f"strip_id_or_class: {name()}" for _ in range(chance.randint(0, 8))]
    lines += ["prune: no", f"test_url: https://www.site{number}.example/2026/11/a-story-of-a-bridge"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the minimum of several runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--redis", metavar="URL", help="server of the frontier; its database is emptied")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        collection, rules, one = (Path(name, part) for part in ("collection", "rules", "one"))
        for folder in (collection, one):
            folder.mkdir()
        for number in range(options.count):
            (collection / f"site{number}.example.txt").write_text(site_file(number))
        subprocess.run(
            ["scrapy", "rules", "import", "ftr", str(collection), "--into", str(rules)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (one / "example.org.yaml").write_text("domain: example.org\n")
        _print("load the rules", [_measure(_LOAD, {}, str(rules)) for _ in range(TURNS)])
        for what, folder in (("start with one rule", one), ("start with all rules", rules)):
            figures, again = [], []
            for turn in range(TURNS):
                place = {
                    "NEWSBOT_RULES": str(folder),
                    "NEWSBOT_DATA": f"{folder}-{turn}",
                }
                if options.redis:
                    place |= {"REDIS_URL": options.redis}
                    redis.Redis.from_url(options.redis).flushdb()
                figures.append(_measure(_START, place))
                again.append(_measure(_START, place))
            _print(what, figures)
            _print(f"{what}, the second time", again)


def _measure(program: str, environment: dict[str, str], *words: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(word) for word in done.stdout.split()]


def _print(what: str, figures: list[list[float]]) -> None:
    wall, cpu = (min(column) for column in zip(*figures, strict=True))
    print(f"{what}: {wall:.2f} s, {cpu:.2f} s CPU")


if __name__ == "__main__":
    main()
