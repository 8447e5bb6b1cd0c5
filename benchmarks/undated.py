"""How often a page without a readable date of its own gets a date: real pages whose own date was removed.

Two variants of each page with a date are read, with an address that has no date. ``visible`` lacks scripts
and the metadata with dates. ``none`` also lacks what names the day of the article: attributes, short texts
with the day and the year, and relative times. A right date is at most one day off; every other date is that
of something else.

    python -m benchmarks.undated FOLDER [--sets fundus,htmldate,traf]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree
from lxml.html import HtmlElement, document_fromstring

from benchmarks.extraction import load_definitions
from newsbot.errors import NotAnArticle
from newsbot.items import Article
from newsbot.pages.extraction import read_page

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_STATED = re.compile(r"\d{4}-\d\d|\d{8}|\d\d[./]\d\d[./]\d|\b20[012]\d\b")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|(?<!\d)1\d{9}(?:\d{3})?(?!\d)|\d{8}")
_KEPT = frozenset({"href", "src", "srcset", "class", "id"})
_RELATIVE = re.compile(
    r"\b(ago|hours?|today|yesterday|vor \d|назад|gestern|heute|ieri|hace|il y a|hier)\b|前", re.I
)
_BOXES = frozenset({"time", "span", "p", "div", "li", "td"})


def _read(html: bytes, url: str) -> Article | None:
    try:
        return read_page(html, url, vouched=True, now=NOW)
    except NotAnArticle:
        return None


def _without_metadata(tree: HtmlElement) -> None:
    for script in list(tree.iter("script")):
        script.drop_tree()
    for meta in list(tree.iter("meta")):
        if (parent := meta.getparent()) is not None and _STATED.search(meta.get("content") or ""):
            parent.remove(meta)


def _names(text: str, day: date) -> bool:
    near = (day + timedelta(step) for step in (-1, 0, 1))
    return any(
        (str(one.year) in text or f"{one:%y}" in text) and re.search(rf"(?<!\d)0?{one.day}(?!\d)", text)
        for one in near
    )


def _is_relative(text: str) -> bool:
    return len(text) < 60 and bool(_RELATIVE.search(text)) and any(map(str.isdigit, text))


def _without_day(tree: HtmlElement, day: date) -> None:
    for element in list(tree.iter(etree.Element)):
        for name, value in list(element.items()):
            if name not in _KEPT and _STAMP.search(value):
                del element.attrib[name]
        text, tail = element.text or "", element.tail or ""
        if len(text) < 150 and (_names(text, day) or _is_relative(text)):
            element.text = " "
        if len(tail) < 150 and (_names(tail, day) or _is_relative(tail)):
            element.tail = " "
        # A date may be divided among several elements.
        whole = str(element.text_content()) if element.tag in _BOXES and len(element) < 12 else ""
        is_time = element.tag == "time" and bool(_RELATIVE.search(whole))
        if whole and len(whole) < 100 and (_names(whole, day) or is_time):
            for child in list(element):
                child.drop_tree()
            element.text = " "


def variants(html: bytes, day: date) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the markup of each variant of a page whose article is of ``day``."""
    try:
        tree = document_fromstring(html)
    except (etree.ParserError, ValueError):
        return
    _without_metadata(tree)
    yield "visible", etree.tostring(tree, method="html", encoding="utf-8")
    _without_day(tree, day)
    yield "none", etree.tostring(tree, method="html", encoding="utf-8")


def measure(data: Path, names: list[str]) -> list[dict[str, object]]:
    """Return a row for each variant: numbers of pages with a right date, a wrong one, and none."""
    counts: dict[str, Counter[str]] = {"visible": Counter(), "none": Counter()}
    for name in names:
        for page in load_definitions(data).ds_flat(str(data / name)):
            html, url = page["read"](), page["url"]
            whole = _read(html, url)
            if whole is None or whole.published_at is None:
                continue
            day = whole.published_at.date()
            for variant, markup in variants(html, day):
                article = _read(
                    markup, f"https://{urlsplit(url).hostname or 'site.example'}/story-of-the-day"
                )
                if article is not None:
                    found = article.published_at and article.published_at.date()
                    is_right = found is not None and abs(found - day) <= timedelta(days=1)
                    counts[variant]["no date" if found is None else "right" if is_right else "wrong"] += 1
    return [
        {"variant": variant, "pages": of.total(), **{key: of[key] for key in ("right", "no date", "wrong")}}
        for variant, of in counts.items()
    ]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder with score.py and the sets of pages")
    parser.add_argument("--sets", default="fundus,htmldate,traf", help="names of sets, with commas")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = measure(options.folder, options.sets.split(","))
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
