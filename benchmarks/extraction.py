"""How well and how fast newsbot reads articles, beside trafilatura in the same run.

Reads sets of real pages with gold fields: a folder with ``score.py``, whose definitions are used as they
are, and a folder a set (``html/*.html.gz``, ``index.jsonl``). For each set and extractor it prints

* precision, recall and F1 of the body (4-gram shingles, macro), and the difference to trafilatura
  over the same pages with its standard error: what is under two of these is noise;
* shares of pages with the right title (exact and close), date, minute, authors and language;
* pages of which nothing came (``empty``), and CPU milliseconds a page, mean and median.

    python -m benchmarks.extraction [FOLDER] [--sets fundus,aeb] [--limit N] [--json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import trafilatura
from rich.console import Console
from rich.table import Table

from newsbot.errors import NotAnArticle
from newsbot.extraction import read_page
from newsbot.items import Article, Link, Where

DATA = Path(__file__).parent.parent.parent / "shared" / "extraction"
SETS = ("fundus", "aeb", "fundeval", "daniel-ru", "traf", "htmldate")
MEASURES = (
    "P",
    "R",
    "F1",
    "segF1",
    "title",
    "title~",
    "date",
    "minute",
    "author",
    "a.F1",
    "lang",
    "empty",
    "err",
)
SECONDS = 60.0
RESAMPLES = 400

Fields = dict[str, Any]
Row = dict[str, Any]
Extractor = Callable[[bytes, str], Fields]


def newsbot(html: bytes, url: str) -> Fields:
    """The page alone, as :func:`newsbot.extraction.extract` sees it."""
    return _fields(html, url, None)


def newsbot_feed(html: bytes, url: str) -> Fields:
    """The same with what a crawler knows: a feed named the page (its title and time are not given)."""
    return _fields(html, url, Link(url=url, where=Where.FEED))


def plain_trafilatura(html: bytes, url: str) -> Fields:
    """Trafilatura as it comes."""
    found = trafilatura.bare_extraction(html, url=url, with_metadata=True)
    if found is None or isinstance(found, dict):
        return {}
    return {
        "title": found.title,
        "text": found.text,
        "published": found.date,
        "author": found.author,
        "lang": found.language,
    }


EXTRACTORS: dict[str, Extractor] = {
    "newsbot": newsbot,
    "newsbot, from a feed": newsbot_feed,
    "trafilatura": plain_trafilatura,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where score.py and the sets are")
    parser.add_argument("--sets", default=",".join(SETS), help="comma list (default: all)")
    parser.add_argument("--limit", type=int, help="pages of each set")
    parser.add_argument("--json", action="store_true", help="print one JSON array of rows")
    options = parser.parse_args(arguments)
    definitions = load_definitions(options.folder)
    rows: list[Row] = []
    for name in options.sets.split(","):
        pages = list(definitions.ds_flat(str(options.folder / name)))[: options.limit]
        rows += measure(definitions, name, pages)
    if options.json:
        json.dump(rows, sys.stdout, ensure_ascii=False)
        print()
    else:
        show(rows)


def load_definitions(folder: Path) -> ModuleType:
    """Return ``score.py`` of the folder as a module."""
    path = folder / "score.py"
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{path} is missing: name the folder that holds score.py and the sets of pages")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(definitions: ModuleType, name: str, pages: list[Fields]) -> list[Row]:
    """Return a row for each extractor on one set."""
    answers = {title: definitions.run(extractor, pages, SECONDS) for title, extractor in EXTRACTORS.items()}
    rows = []
    for title, answer in answers.items():
        scores = definitions.score(name, pages, answer)
        times = [found["ms"] for found in answer.values()]
        row: Row = {"set": name, "extractor": title, "pages": len(pages)}
        row |= {key: scores[key] for key in MEASURES if key in scores}
        row |= paired(definitions, name, pages, answer, answers["trafilatura"])
        row |= {"ms_mean": statistics.mean(times), "ms_median": statistics.median(times)}
        rows.append(row)
    return rows


def paired(
    definitions: ModuleType, name: str, pages: list[Fields], one: dict[str, Fields], other: dict[str, Fields]
) -> Row:
    """Return the difference of F1 over the same pages, and its standard error by resampling pages."""
    strict = name.startswith("aeb")
    pairs = [
        tuple(
            definitions.body(page["gold"], found[page["id"]].get("text") or "", strict)
            for found in (one, other)
        )
        for page in pages
        if "text" in page["gold"]
    ]
    if one is other or len(pairs) < 2:
        return {}

    def difference(sample: list[tuple[Any, ...]]) -> float:
        left, right = zip(*sample, strict=True)
        return float(definitions.prf(left)[2] - definitions.prf(right)[2])

    luck = random.Random(0)
    spread = [difference(luck.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES)]
    return {"F1_gain": difference(pairs), "F1_gain_error": statistics.stdev(spread)}


def show(rows: list[Row]) -> None:
    """Print one table."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(box=None, pad_edge=False)
    for key in keys:
        table.add_column(key, justify="left" if key in ("set", "extractor") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(key, row.get(key)) for key in keys))
    Console(width=220).print(table)


def _cell(key: str, value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if key.startswith("ms") else f"{value:.3f}"
    return "" if value is None else str(value)


def _fields(html: bytes, url: str, hint: Link | None) -> Fields:
    try:
        article = read_page(html, url, hint=hint)
    except NotAnArticle:
        return {}
    return {
        "title": article.title,
        "text": article.text,
        "published": _moment(article),
        "author": article.authors,
        "lang": article.language,
    }


def _moment(article: Article) -> str | None:
    """A bare day is given as a day, or the measure would take midnight for the minute."""
    if article.published_at is None:
        return None
    if article.published_precision == "day":
        return article.published_at.date().isoformat()
    return article.published_at.isoformat()


if __name__ == "__main__":
    main()
