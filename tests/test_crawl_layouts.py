"""A crawl reads each article with the layout of its date (``valid_from``), and reports invalid layouts."""

from __future__ import annotations

import pytest

from tests.crawls import SENTENCES, feed_xml

HOST = "http://news.test"
XML = {"Content-Type": "application/rss+xml"}
RULE = """domain: news.test
feeds: http://news.test/feed.xml
article: ^/story/
extract:
  title: h2.was
  text: div.before p
layouts:
  - valid_from: 2024-05-01
    extract: {title: h2.is, text: div.now p}
    remove: p.newsletter
  - valid_from: 2020-01-01
    extract: {title: h2.between, text: div.now p}
"""


def page(number: int, day: str) -> str:
    """Return a page with the elements of all layouts."""
    paragraphs = "".join(
        f"<p>{sentence.format(n=number * 31 + n)}</p>" for n, sentence in enumerate(SENTENCES)
    )
    head = f"<title>x</title><meta property='article:published_time' content='{day}T08:00:00Z'>"
    titles = (
        f"<h2 class=was>Old title of {number}</h2><h2 class=between>Title between, of {number}</h2>"
        f"<h2 class=is>New title of {number}</h2>"
    )
    more = "<p class=newsletter>Subscribe to our newsletter.</p>"
    return (
        f"<html lang=en><head>{head}</head><body>{titles}"
        f"<div class=before><p>Before {number}.</p>{paragraphs}</div>"
        f"<div class=now><p>Now {number}.</p>{paragraphs}{more}</div></body></html>"
    )


DAYS = {1: "2019-12-31", 2: "2020-01-01", 3: "2024-04-30", 4: "2024-05-01", 5: "2026-11-20"}


def test_each_article_is_read_with_the_layout_of_its_date(site, world):
    urls = [f"{HOST}/story/{n}" for n in DAYS]
    site.page(f"{HOST}/feed.xml", feed_xml(urls), headers=XML)
    for (number, day), url in zip(DAYS.items(), urls, strict=True):
        site.page(url, page(number, day))
    world.rule("news.test", RULE)
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    found = {article.url: article for article in world.articles()}
    assert [found[url].title for url in urls] == [
        "Old title of 1",
        "Title between, of 2",
        "Title between, of 3",
        "New title of 4",
        "New title of 5",
    ]
    for number, url in enumerate(urls, 1):
        text = found[url].text
        assert text.startswith("Before 1." if number == 1 else f"Now {number}.")
        assert ("newsletter" in text) is (number in (2, 3)), "remove must apply to its own layout only"
        assert found[url].extraction["title"].startswith("rule")


@pytest.mark.parametrize(
    ("layouts", "problem"),
    [
        ("- extract: {title: h1}", "valid_from"),
        ("- valid_from: yesterday", "valid_from"),
        ("- valid_from: 2024-05-01\n  extract: {titel: h1}", "title"),
        (
            "- valid_from: 2024-05-01\n  extract: {title: h1}\n- valid_from: 2024-05-01\n  remove: p",
            "2024-05-01",
        ),
    ],
)
def test_an_invalid_layout_is_reported_with_its_line(world, layouts, problem):
    lines = "\n".join(f"  {line}" for line in layouts.splitlines())
    world.rule("news.test", f"domain: news.test\nlayouts:\n{lines}\n")
    crawl = world.crawl()
    assert crawl.code != 0
    assert "news.test.yaml:" in crawl.err
    assert problem in crawl.err
    assert "Traceback" not in crawl.err
