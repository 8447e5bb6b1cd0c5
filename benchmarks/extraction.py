"""Quality and speed of newsbot's extraction, compared with public extractors in the same run.

Reads sets of real pages with gold fields: a folder with ``score.py``, which defines the measures, and a
folder per set (``html/*.html.gz``, ``index.jsonl``). For each set and extractor, the benchmark prints these
figures:

* precision, recall and F1 of the body (4-gram shingles, macro), and the difference from trafilatura on the
  same pages, with the standard error of this difference. A difference of less than two standard errors is not
  significant;
* shares of pages with the correct title (exact and close), date, minute, authors and language;
* number of pages without a result (``empty``) and of failures (``err``; a page that needs more than 20 CPU
  seconds is a failure), and CPU milliseconds per page (mean and median).

Each row is printed as soon as it is complete. If an extractor exceeds this time limit on five pages of a set,
it skips the rest of the set.

The model that newsbot ships was trained on the texts of four of these sets. ``--left-out DIR`` reads each
page with a model that was trained without pages of the same publisher (``python -m benchmarks.learning --keep
DIR``). Use the figures of ``--left-out`` for comparisons. The other extractors are in
``benchmarks/requirements.txt``; those that are not installed are listed below the table.

With ``--brackets``, a paragraph in brackets in a gold text is optional, as the annotators of fundeval
intended (29 of its 30 pages have such paragraphs). Without it, such a paragraph counts as missed.

    python -m benchmarks.extraction [FOLDER] [--sets fundus,aeb] [--only newsbot,goose3] [--left-out DIR]
                                    [--brackets] [--limit N] [--json]
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table

from benchmarks.extractors import Extractor, Fields, plain_trafilatura, public_extractors
from benchmarks.patience import TooSlow, bounded
from newsbot.errors import NotAnArticle
from newsbot.items import Article, Link, Where
from newsbot.pages.extraction import read_page
from newsbot.pages.extraction.body import text as body_text
from newsbot.pages.rules.rule import Layout, Rule, read_selector

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
SECONDS = 300.0
"""Wall-clock limit for one page: an extractor that waits for a network is stopped."""
MAX_SLOW = 5
RESAMPLES = 400

WIDTH = 240
COLUMNS: dict[str, tuple[int, JustifyMethod]] = {
    "set": (9, "left"),
    "extractor": (31, "left"),
    "pages": (5, "right"),
}
COLUMNS |= dict.fromkeys(MEASURES, (6, "right"))
COLUMNS |= {
    "F1_gain": (7, "right"),
    "F1_gain_error": (13, "right"),
    "ms_mean": (7, "right"),
    "ms_median": (9, "right"),
}

Row = dict[str, Any]
BASE = "trafilatura"


def newsbot(html: bytes, url: str) -> Fields:
    """Read only the page, like :func:`newsbot.pages.extraction.extract`."""
    return _fields(html, url, None)


def newsbot_feed(html: bytes, url: str) -> Fields:
    """Read the page as a link of a feed, without the feed's title and time."""
    return _fields(html, url, Link(url=url, where=Where.FEED))


def newsbot_ruled(html: bytes, url: str) -> Fields:
    """Read the page with a rule for text and headline; used only to measure the time."""
    return _fields(html, url, None, rule=RULED)


RULED = Rule(
    domain="example.org",
    layouts=(
        Layout(
            extract={
                "text": tuple(read_selector(text) for text in ("article p", "main p", "p")),
                "title": (read_selector("h1"),),
            }
        ),
    ),
)
OURS: dict[str, Extractor] = {
    "newsbot": newsbot,
    "newsbot from a feed": newsbot_feed,
    "newsbot with a rule": newsbot_ruled,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DATA, help="folder with score.py and the sets"
    )
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated (default: all)")
    parser.add_argument("--limit", type=int, help="pages of each set")
    parser.add_argument("--only", help="comma-separated extractors (default: all that are installed)")
    parser.add_argument("--left-out", type=Path, help="folder with trees by folds of publishers")
    parser.add_argument("--brackets", action="store_true", help="paragraphs in brackets are optional")
    parser.add_argument("--json", action="store_true", help="print one JSON array of rows")
    options = parser.parse_args(arguments)
    definitions = load_definitions(options.folder)
    public, missing = public_extractors()
    extractors = OURS | public
    if options.only:
        extractors = {name: extractors[name] for name in options.only.split(",")}
    folds = Folds(options.left_out, definitions) if options.left_out is not None else None
    console = Console(width=WIDTH)
    rows: list[Row] = []
    for name in options.sets.split(","):
        pages = list(definitions.ds_flat(str(options.folder / name)))[: options.limit]
        if options.brackets:
            pages = [_with_optional(page) for page in pages]
        for row in measure(definitions, name, pages, extractors, folds):
            if not options.json:
                show(console, row, head=not rows)
            rows.append(row)
    if options.json:
        json.dump(rows, sys.stdout, ensure_ascii=False)
        print()
    else:
        for reason in missing:
            print(f"not installed: {reason}")


def _with_optional(page: Fields) -> Fields:
    """Return a page whose paragraphs in brackets are optional: neither required nor counted as wrong."""
    lines = page["gold"].get("text", "").split("\n")
    optional = [line for line in lines if line.strip().startswith("[") and line.strip().endswith("]")]
    if not optional:
        return page
    text = "\n".join(line for line in lines if line not in optional)
    other = "\n".join((page["gold"].get("optional") or "", *optional))
    return page | {"gold": page["gold"] | {"text": text, "optional": other}}


class Folds:
    """Trees by publisher, trained without the pages of that publisher."""

    def __init__(self, folder: Path, definitions: ModuleType) -> None:
        self._publisher = definitions.publisher
        self._count = int(json.loads((folder / "folds.json").read_text(encoding="utf-8"))["count"])
        self._trees = [
            body_text.from_json((folder / f"forest-{number}.json").read_text(encoding="utf-8"))
            for number in range(self._count)
        ]

    def use(self, page: Fields) -> None:
        """Make newsbot use the trees for this page."""
        trees = self._trees[fold_of(self._publisher(page), self._count)]
        body_text.shipped = lambda: trees  # type: ignore[assignment]


def fold_of(publisher: str, count: int) -> int:
    """Return the fold of a publisher."""
    return int(hashlib.sha256(publisher.encode()).hexdigest(), 16) % count


def load_definitions(folder: Path) -> ModuleType:
    """Return ``score.py`` of the folder as a module."""
    path = folder / "score.py"
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{path} is missing: name the folder that holds score.py and the sets of pages")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(
    definitions: ModuleType,
    name: str,
    pages: list[Fields],
    extractors: dict[str, Extractor],
    folds: Folds | None,
) -> Iterator[Row]:
    """Yield a row for each extractor on one set, as soon as it has read all pages."""

    def run(extractor: Extractor, page: Fields) -> Fields:
        if folds is not None:
            folds.use(page)
        answer: Fields = definitions.run(extractor, [page], SECONDS)
        return answer

    def read(extractor: Extractor) -> Fields:
        patient = bounded(extractor)
        found: Fields = {}
        slow = 0
        for page in pages[:1]:  # loading and compiling happen once and are not counted
            run(patient, page)
        for page in pages:
            answer = run(patient if slow < MAX_SLOW else _given_up, page)
            slow += (answer[page["id"]]["err"] or "").startswith(TooSlow.__name__)
            found |= answer
        return found

    base = read(extractors.get(BASE, plain_trafilatura))
    for title, extractor in extractors.items():
        answer = base if title == BASE else read(extractor)
        yield _row(definitions, name, pages, (title, answer), base)


def _given_up(_: bytes, __: str) -> Fields:
    raise TooSlow("too slow on the pages before")


def _row(
    definitions: ModuleType, name: str, pages: list[Fields], named: tuple[str, Fields], base: Fields
) -> Row:
    title, answer = named
    scores = definitions.score(name, pages, answer)
    times = [found["ms"] for found in answer.values()]
    row: Row = {"set": name, "extractor": title, "pages": len(pages)}
    row |= {key: scores[key] for key in MEASURES if key in scores}
    row |= paired(definitions, name, pages, answer, base)
    return row | {"ms_mean": statistics.mean(times), "ms_median": statistics.median(times)}


def paired(
    definitions: ModuleType, name: str, pages: list[Fields], one: dict[str, Fields], other: dict[str, Fields]
) -> Row:
    """Return the difference of F1 over the same pages, and its standard error by bootstrapping."""
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


def show(console: Console, row: Row, *, head: bool) -> None:
    """Print one row. Before the first row, print the column headings."""
    table = Table(box=None, pad_edge=False, show_header=head)
    for key, (width, justify) in COLUMNS.items():
        table.add_column(key, width=width, justify=justify, no_wrap=True)
    table.add_row(*(_cell(key, row.get(key)) for key in COLUMNS))
    console.print(table)


def _cell(key: str, value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if key.startswith("ms") else f"{value:.3f}"
    return "" if value is None else str(value)


def _fields(html: bytes, url: str, hint: Link | None, rule: Rule | None = None) -> Fields:
    try:
        article = read_page(html, url, hint=hint, rule=rule, vouched=True)
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
    """Return a date without a time as a date; otherwise midnight would count as the minute."""
    if article.published_at is None:
        return None
    if article.published_precision == "day":
        return article.published_at.date().isoformat()
    return article.published_at.isoformat()


if __name__ == "__main__":
    main()
