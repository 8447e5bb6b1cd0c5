"""All fields of the test pages are the same on each Python version and machine.

``data/extraction_same.json`` has a hash of each field of each page, and of the scores of its pieces. It was
recorded on one Python version, and the suite compares it on others. After an intended change of the
extraction or of the demo's pages, record it again::

    python -m tests.test_extraction_same
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from newsbot.apps.demo.server import Pages, load_sites, make_environment, publish
from newsbot.errors import NotAnArticle
from newsbot.pages.extraction import parse_html, read_page
from newsbot.pages.extraction.body import text as body_text
from newsbot.pages.extraction.body.features import View
from newsbot.pages.extraction.body.pieces import cut
from newsbot.pages.extraction.body.text import known_of, stated_blocks
from newsbot.pages.extraction.page import Page
from tests.extraction_pages import PAGES

RECORDED = Path(__file__).parent / "data" / "extraction_same.json"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DEMO_ARTICLES = 600
PER_SITE = 4
"""Number of pages from each site of the demo."""


def pages() -> Iterator[tuple[str, str, bytes]]:
    """Yield name, URL and bytes of each page: the files of ``data/pages``, and articles of the demo."""
    for file in sorted(PAGES.rglob("*.html")):
        name = file.relative_to(PAGES).as_posix()
        yield name, f"https://www.example.org/{name}", file.read_bytes()
    published, templates = publish(DEMO_ARTICLES, NOW), make_environment()
    for site in load_sites():
        mine = [article for article in published if article.site.name == site.name]
        answers = Pages(site, mine, NOW, templates)
        made = ((one, answers.answer(one.path)) for one in mine)
        for article, answer in islice((pair for pair in made if pair[1].kind == "article"), PER_SITE):
            yield f"demo {article.url}", article.url, answer.make()


def fields(url: str, html: bytes) -> dict[str, str]:
    """Return a short hash of each field of a page, and of the scores of its pieces."""
    found: dict[str, object] = {"page": html.hex()}
    try:
        page = Page.read(parse_html(html), url)
        view = View(cut(page.tree), known_of(page, stated_blocks(page)))
        found["scores"] = body_text.judge(view).tolist()
        found |= read_page(html, url, now=NOW, vouched=True).to_dict()
    except NotAnArticle as reason:
        found["refused"] = str(reason)
    return {key: _hash(value) for key, value in found.items() if value not in (None, "", [], {}, False)}


def _hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def record() -> None:
    """Write the hashes, one page per line."""
    lines = [f"{json.dumps(name)}: {json.dumps(fields(url, html))}" for name, url, html in pages()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def test_all_fields_are_as_recorded() -> None:
    recorded = _flat(json.loads(RECORDED.read_text(encoding="utf-8")))
    found = _flat({name: fields(url, html) for name, url, html in pages()})
    different = sorted({(name, field) for name, field, _ in recorded ^ found})
    assert not different, (
        "It is a bug if only this Python version or machine gives other values. If the extraction or a page "
        "was changed on purpose, run: python -m tests.test_extraction_same"
    )


def _flat(pages: dict[str, dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(name, field, value) for name, hashes in pages.items() for field, value in hashes.items()}


if __name__ == "__main__":
    record()
