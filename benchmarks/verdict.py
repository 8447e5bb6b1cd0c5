"""How well the extraction recognises which pages are articles, measured as a classifier.

    python -m benchmarks.verdict [--sets DIR ...] [--formasaurus DIR] [--html DIR ...] [--part dev|test]

* ``--sets``: folders of folders with ``index.jsonl`` and pages. A row with a ``type`` is not an article
* ``--formasaurus``: the folder ``formasaurus/data`` of its source package (``pip download --no-deps
  --no-binary :all: formasaurus==0.10.0``): 954 home, shop, forum and service pages of real sites
* ``--html``: folders of HTML files that are not articles. Each folder is a site, for example manuals
  (``apt-get download git-doc``, ``dpkg -x``) or list pages of a generator. 14 pages of each folder are read
The shipped weights were computed from such pages. ``python -m training.evidence`` has the same options; its
table judges the pages of a site with weights that were computed without them.

The columns are: number of pages, of pages that are accepted without any
hint, and of pages that are accepted in a crawl. In a crawl an article is an item of a feed. Any other page is
the sample of an unknown family. Pages of articles with under 2,000 bytes are not counted: they are frames
that scripts fill.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from urllib.parse import urlsplit

from newsbot.items import Link, Where
from newsbot.pages.extraction import article
from newsbot.pages.extraction import verdict as evidence
from newsbot.pages.extraction.verdict import REQUIRED, Standing
from newsbot.urls import site_of

LEAST_BYTES = 2000
"""Minimum size of a page of an article in bytes. Smaller pages are frames that scripts fill."""
FOLDS = 8


class Saved(NamedTuple):
    """A page, its URL, and its type."""

    kind: str
    url: str
    path: Path
    article: bool


class Judged(NamedTuple):
    """The results of one page: its features, and which reason refuses it apart from its evidence."""

    page: Saved
    features: dict[str, float]
    alone: str
    named: bool
    """True if the page is accepted as an item of a feed."""


def pages_of_sets(sets: Path) -> Iterator[Saved]:
    """Yield the pages of the sets."""
    for index in sorted(sets.glob("*/index.jsonl")):
        for line in index.read_text(encoding="utf8").splitlines():
            row = json.loads(line)
            url = row["url"]
            # The set names only the hosts of its articles, whose pages are not home pages.
            if urlsplit(url).path in ("", "/") and "type" not in row:
                url = url.rstrip("/") + "/news/an-article-12345.html"
            yield Saved(row.get("type") or index.parent.name, url, index.parent / row["html"], "gold" in row)


def formasaurus(data: Path) -> Iterator[Saved]:
    """Yield the pages of formasaurus; those without a path are home pages."""
    for name, row in json.loads((data / "index.json").read_text(encoding="utf8")).items():
        home = urlsplit(row["url"]).path.strip("/").lower() in ("", "index.html", "index.php")
        yield Saved("home" if home else "shop, forum, service", row["url"], data / name, article=False)


def pages_of(folder: Path, most: int = 14) -> Iterator[Saved]:
    """Yield at most ``most`` pages of a folder, chosen by their digest."""
    files = [
        path for path in folder.rglob("*.htm*") if path.is_file() and 3000 < path.stat().st_size < 600_000
    ]
    for path in sorted(files, key=lambda path: md5(str(path.relative_to(folder)).encode()).digest())[:most]:
        url = f"https://{folder.name}.example.org/{path.relative_to(folder).as_posix()}"
        yield Saved(folder.name, url, path, article=False)


def fold_of(page: Saved) -> int:
    """Return the number of the fold of the page's site."""
    host = (urlsplit(page.url).hostname or "").removesuffix(".example.org")
    return md5((site_of(host) or host).encode()).digest()[-1] % FOLDS


def judged(page: Saved) -> Judged | None:
    """Read a page. The result is None if the page of an article does not contain the article's text."""
    html = page.path.read_bytes()
    html = gzip.decompress(html) if page.path.suffix == ".gz" else html
    if page.article and len(html) < LEAST_BYTES:
        return None
    found: dict[str, float] = {}

    def record(*arguments: object, **named: object) -> dict[str, float]:
        found.update(_features(*arguments, **named))  # type: ignore[arg-type]
        return found

    with mock.patch.object(evidence, "features", record), mock.patch.dict(REQUIRED, {Standing.ALONE: -1e9}):
        alone = article.read(html, page.url).refusal
    named = article.read(html, page.url, hint=Link(url=page.url, where=Where.FEED)).article is not None
    return Judged(page, {name: float(value) for name, value in found.items()}, alone, named)


_features = evidence.features


def odds_of(row: Judged, weights: Mapping[str, float]) -> float:
    """Return the log-odds of a page; minus infinity if it is refused for another reason."""
    if row.alone or not row.features:
        return -math.inf
    return weights[""] + sum(weights.get(name, 0.0) * value for name, value in row.features.items())


def arguments(description: str | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    parser.add_argument("--formasaurus", type=Path)
    parser.add_argument("--html", type=Path, nargs="*", default=[])
    parser.add_argument("--part", choices=("dev", "test"), help="default: both")
    parser.add_argument("--worst", type=int, default=0, help="print this many wrong pages of each kind")
    return parser.parse_args()


def read_pages(options: argparse.Namespace) -> list[Judged]:
    """Return the results of all pages that the options name."""
    found = [page for folder in options.sets for page in pages_of_sets(folder)]
    found += formasaurus(options.formasaurus) if options.formasaurus else ()
    found += [page for folder in options.html for page in pages_of(folder)]
    if options.part:
        found = [page for page in found if fold_of(page) % 2 == (options.part == "test")]
    with Pool() as pool:
        read = pool.map(judged, found, chunksize=8)
    rows = [row for row in read if row is not None]
    print(f"not counted, because the page does not hold its text: {len(found) - len(rows)}")
    return rows


def main() -> None:
    """Read the pages and print the table."""
    options = arguments(__doc__)
    rows = read_pages(options)
    print_all(rows, [odds_of(row, evidence.weights()) for row in rows], options.worst)


def print_all(rows: Sequence[Judged], odds: Sequence[float], worst: int) -> None:
    """Print the table, the limits that refuse few articles, and the worst pages."""
    print_table(rows, odds)
    for at_most in (0.02, 0.03, 0.04, 0.05):
        scores = sorted(score for row, score in zip(rows, odds, strict=True) if row.page.article)
        limit = scores[int(at_most * len(scores))]
        print(f"{at_most:.0%} of the articles are below {limit:.2f}")
    for is_article in (True, False):
        pairs = [
            (score, row.page.url)
            for row, score in zip(rows, odds, strict=True)
            if row.page.article is is_article
        ]
        for score, url in sorted(pairs, reverse=not is_article)[:worst]:
            print(f"{score:8.2f} {'article' if is_article else 'other'} {url}")


def print_table(rows: Sequence[Judged], odds: Sequence[float]) -> None:
    """Print the number of accepted pages of each kind."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row, score in zip(rows, odds, strict=True):
        what = "article" if row.page.article else "other"
        crawled = row.named if row.page.article else score >= REQUIRED[Standing.SAMPLE]
        for kind in (row.page.kind, "all"):
            counts[what, kind, "pages"] += 1
            counts[what, kind, "alone"] += score >= REQUIRED[Standing.ALONE]
            counts[what, kind, "crawled"] += crawled
            counts[what, kind, "sampled"] += score >= REQUIRED[Standing.SAMPLE]
    print(f"{'':<34}{'pages':>6}{'no hint':>18}{'in a crawl':>18}{'as a sample':>18}")
    for what, kind in dict.fromkeys(key[:2] for key in counts):
        number, *said = (counts[what, kind, name] for name in ("pages", "alone", "crawled", "sampled"))
        print(f"{what + ': ' + kind:<34}{number:>6}" + "".join(f"{n:>8} = {n / number:>7.2%}" for n in said))


if __name__ == "__main__":
    main()
