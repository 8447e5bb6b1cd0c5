"""Measures categories on sites that were not seen: ``python -m benchmarks.topics ARTICLES.jsonl.gz``.

The file has a JSON object a line with ``url``, ``title``, ``text`` and ``lang``. The truth is the section
that the site itself gives in the URL. Copies of a text are left out, because a copy on another site would
count as seen. The articles are stored, and the categories are learned with the commands of newsbot.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from newsbot.apps.topics.categories import Definition, define
from newsbot.items import Article
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize, site_of

SECTIONS = {
    "sport": "sport sports football cricket soccer futbol nba nfl hockey tennis boxing mma uk-sports",
    "economy": "business economy economics ekonomika markets finance money finansy biznes companies",
    "culture": "entertainment celebrity-news showbiz celebs tv movies kultura culture music film kino",
    "science": "science technology tech nauka tehnologii technologies tekhnologii gadgets hi-tech space",
    "health": "health zdorove zdorovie medicine medicina",
    "cars": "auto cars avto autos motoring",
}
COPIED = 0.3
"""An article is a copy if the articles before it have this share of its sequences of five words."""


def main() -> None:
    """Print the figures of each category."""
    with tempfile.TemporaryDirectory() as folder:
        with closing(SqliteStorage(Path(folder) / "newsbot.db")) as storage:
            for row in _rows(sys.argv[1]):
                storage.articles.store(_article(row))
            for name, sections in SECTIONS.items():
                define(storage.notes, name, Definition(sections=tuple(sections.split())))
        command = [sys.executable, "-m", "newsbot", "categories", "learn", "--json"]
        command += ["-s", f"NEWSBOT_DATA={folder}"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for found in json.loads(done.stdout):
            print(
                f"{found['category']:<10} {found['examples']:>5} examples  precision {found['precision']:.3f}"
                f"  recall {found['recall']:.3f}  F1 {found['f1']:.3f}"
            )


def _rows(path: str) -> Iterator[dict[str, str]]:
    known: set[int] = set()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            words = row["text"].split()
            runs = {hash(tuple(words[place : place + 5])) for place in range(len(words) - 4)}
            if len(runs & known) <= COPIED * len(runs):
                yield row
            known |= runs


def _article(row: dict[str, str]) -> Article:
    url = canonicalize(row["url"])
    return Article(
        url=url,
        canonical_url=url,
        source=site_of(urlsplit(url).hostname or ""),
        title=row["title"],
        text=row["text"],
        language=row["lang"],
        content_hash=url,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


if __name__ == "__main__":
    main()
