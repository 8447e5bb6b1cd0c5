"""How well the extraction recognises which pages are articles, measured as a classifier.

    python -m benchmarks.verdict [--sets DIR] [--formasaurus DIR] [--html DIR ...] [--part dev|test]

* ``--sets``: a folder of folders with ``index.jsonl`` and pages of articles
* ``--formasaurus``: the folder ``formasaurus/data`` of its source package (``pip download --no-deps
  --no-binary :all: formasaurus==0.10.0``): 954 home, shop, forum and service pages of real sites
* ``--html``: folders of HTML files that are not articles. Each folder is a site, for example manuals
  (``apt-get download git-doc``, ``dpkg -x``) or list pages of a generator. 14 pages of each folder are read

All pages of a site are either in part ``dev`` or in part ``test``; thresholds were chosen on ``dev``. The
columns are: number of pages, of pages that are accepted without any hint, and of pages that are accepted in a
crawl. In a crawl an article is an item of a feed. Any other page is a link in a text, with the page's heading
as link text, and ranking must accept it first. Pages of articles with under 2,000 bytes are not counted: they
are frames that scripts fill.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.extraction import parse_html, read_page
from newsbot.extraction.page.page import Page
from newsbot.items import Kind, Link, Where
from newsbot.ranking.judging import judge
from newsbot.rules.rule import Rule
from newsbot.urls import site_of

LEAST_BYTES = 2000
"""Minimum size of a page of an article in bytes. Smaller pages are frames that scripts fill."""


class Saved(NamedTuple):
    """A page, its URL, and its type."""

    kind: str
    url: str
    path: Path
    article: bool


def articles(sets: Path) -> Iterator[Saved]:
    """Yield the pages of the sets."""
    for index in sorted(sets.glob("*/index.jsonl")):
        for line in index.read_text(encoding="utf8").splitlines():
            row = json.loads(line)
            yield Saved(index.parent.name, row["url"], index.parent / row["html"], article=True)


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


def part_of(page: Saved) -> str:
    """Return the part of the page's site."""
    site = (urlsplit(page.url).hostname or "").removesuffix(".example.org")
    return "test" if md5(site.encode()).digest()[-1] % 2 else "dev"


def accepts(page: Saved) -> tuple[bool, bool] | None:
    """Return whether the page is accepted as an article without a hint, and in a crawl.

    The result is None if the page of an article does not contain the article's text.
    """
    html = page.path.read_bytes()
    html = gzip.decompress(html) if page.path.suffix == ".gz" else html
    if page.article and len(html) < LEAST_BYTES:
        return None
    alone = _is_read(html, page.url, None)
    if page.article:
        return alone, alone or _is_read(html, page.url, Link(url=page.url, where=Where.FEED))
    return alone, alone and _is_followed(html, page.url)


def _is_read(html: bytes, url: str, hint: Link | None) -> bool:
    try:
        read_page(html, url, hint=hint)
    except NotAnArticle:
        return False
    return True


def _is_followed(html: bytes, url: str) -> bool:
    headings = Page.read(parse_html(html), url).headings
    link = Link(url=url, where=Where.BODY, text=headings[0] if headings else None)
    rule = Rule(domain=site_of(urlsplit(url).hostname or ""))
    # Only the links are read from a page that ranking takes for a list.
    return judge(link, rule, depth=1, now=utc(system_clock())).kind is Kind.ARTICLE


def main() -> None:
    """Read the pages and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--formasaurus", type=Path)
    parser.add_argument("--html", type=Path, nargs="*", default=[])
    parser.add_argument("--part", choices=("dev", "test"), help="default: both")
    options = parser.parse_args()
    found = [*articles(options.sets)] if options.sets else []
    found += formasaurus(options.formasaurus) if options.formasaurus else ()
    found += [page for folder in options.html for page in pages_of(folder)]
    counts: Counter[tuple[str, str, str]] = Counter()
    empty = 0
    for page in found:
        row = ("article" if page.article else "other", page.kind)
        if options.part in (None, part_of(page)):
            if (accepted := accepts(page)) is None:
                empty += 1
                continue
            alone, crawled = accepted
            for key in (row, (row[0], "all")):
                counts.update(
                    {(*key, "pages"): 1, (*key, "alone"): int(alone), (*key, "crawled"): int(crawled)}
                )
    print(f"{'':<30}{'pages':>6}{'no hint':>18}{'in a crawl':>18}")
    for what, kind in dict.fromkeys(key[:2] for key in counts):
        number, *said = (counts[what, kind, name] for name in ("pages", "alone", "crawled"))
        print(f"{what + ': ' + kind:<30}{number:>6}" + "".join(f"{n:>8} = {n / number:>7.2%}" for n in said))
    print(f"not counted, because the page does not hold its text: {empty}")


if __name__ == "__main__":
    main()
