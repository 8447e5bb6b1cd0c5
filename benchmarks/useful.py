"""Share of a crawl's page downloads that are articles, on sites with nine noise links for each article link.

Crawls the demo's hosts behind a loopback proxy, with the real spider in a process of its own:

* ``cold``: each rule has one line (``domain``), and newsbot knows nothing about the sites. Only the rule of
  the agency also names its feeds, because half of the agency's stories are not linked from any page;
* ``learned``: the same rules and an empty queue, but newsbot has learned about URLs in the first crawl;
* ``rules``: the demo's own rule files, with hand-written patterns;
* ``ranking off``: like ``cold``, but every link that no rule denies is followed, with ``--budget`` times as
  many downloads as there are articles.

``useful``: the share of articles among the pages that the server sent completely; robots.txt, feeds, sitemaps
and sections are not counted. ``found``: the share of all articles that were stored.

    python -m benchmarks.useful [--articles 600] [--budget 8] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from newsbot.apps.demo.check import compare, count_log
from newsbot.backends import open_storage
from newsbot.ranking.url_learning import NOTE_KIND
from testbed.demoweb.hosts import HOSTS, WIRE
from testbed.demoweb.server import DemoServer, this_hour

WAYS = ("cold", "learned", "rules", "ranking off")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=600)
    parser.add_argument("--budget", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="newsbot-useful-") as folder:
        rows = [measure(way, Path(folder), options.articles, options.budget) for way in WAYS]
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print("  ".join(f"{key}={value}" for key, value in row.items()))


def measure(way: str, folder: Path, articles: int, budget: int) -> dict[str, Any]:
    """Crawl once and return the row."""
    data = folder / way.replace(" ", "-")
    with DemoServer(folder / f"site-{data.name}", articles=articles, now=this_hour()) as server:
        environment = {**os.environ, **server.crawl_environment, "NEWSBOT_DATA": str(data)}
        if way != "rules":
            environment["NEWSBOT_RULES"] = str(_one_line_rules(folder, Path(environment["NEWSBOT_RULES"])))
        if way == "learned":
            _hand_on(folder / "cold", data)
        limits = ("-s", "NEWSBOT_RANKING=0", "-s", f"CLOSESPIDER_PAGECOUNT={budget * articles}")
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "-s", "NEWSBOT_PROGRESS=0"]
        subprocess.run(
            [*command, *(limits if way == "ranking off" else ())],
            env=environment,
            check=False,
            stderr=subprocess.DEVNULL,
        )
        with closing(open_storage({"NEWSBOT_DATA": str(data)})) as storage:
            report = compare(storage.articles.iter(), server.manifest)
        figures = count_log(server.log, server.manifest)
    expected = sum(tally.expected for tally in report.hosts.values())
    stored = expected - sum(tally.missing for tally in report.hosts.values())
    return {
        "way": way,
        "useful": round(figures.useful_share, 3),
        "found": round(stored / expected, 3),
        "articles": expected,
        "pages": figures.pages_fetched,
        "requests": figures.requests,
        "twice": sum(tally.twice for tally in report.hosts.values()),
        "of_pages": dict(figures.requests_by_kind),
    }


def _one_line_rules(folder: Path, source: Path) -> Path:
    own = folder / "one-line"
    own.mkdir(exist_ok=True)
    (own / "_defaults.yaml").write_text((source / "_defaults.yaml").read_text())
    for host in HOSTS:
        feeds = host.rule[: host.rule.index("article:")] if host is WIRE else ""
        (own / f"{host.domain}.yaml").write_text(f"domain: {host.domain}{feeds}\n", encoding="utf-8")
    return own


def _hand_on(before: Path, after: Path) -> None:
    """Copy only what the first crawl has learned."""
    after.mkdir()
    with (
        closing(open_storage({"NEWSBOT_DATA": str(before)})) as old,
        closing(open_storage({"NEWSBOT_DATA": str(after)})) as new,
    ):
        for host in HOSTS:
            for key, note in old.notes.all(NOTE_KIND + host.source).items():
                new.notes.save(NOTE_KIND + host.source, key, note)


if __name__ == "__main__":
    main()
