"""Links of pages: text, position, time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.errors import NotAnArticle
from newsbot.items import Link, Where
from newsbot.pages.discovery.list_pages import MAX_LINKS, find_links, is_navigation_name
from newsbot.pages.extraction.parsing import parse_html

URL = "https://site.example/news/index.html"
NOW = datetime(2025, 1, 2, tzinfo=UTC)

PAGE = """<!DOCTYPE html><html><head><title>T</title></head><body class="has-menu footer-fixed">
<header><a href="/">Home</a><ul><li><a href="/sport/">Sport</a></li></ul></header>
<div class="c-main-nav"><a href="/politics/">Politics</a></div>
<nav aria-label="Breadcrumb"><a href="../world/">World</a></nav>
<main>
  <article>
    <header><h2><a href="1.html">Bridge   opens
      after <b>ten</b> years</a></h2></header>
    <a href="1.html#comments"><img src="x.jpg"
      alt="A very long description of what can be seen in the picture"></a>
    <time datetime="2024-12-31T10:00:00+03:00">yesterday</time>
  </article>
  <article><a href="2.html"><img src="y.jpg" alt="Only a picture"></a></article>
  <div class="article-header"><a href="/3.html">In an article header</a></div>
  <div role="navigation"><a href="/page/2">2</a></div>
  <aside><a href="/4.html">Most read</a></aside>
  <p><a href="/sport/">all of sport</a> <a href="https://other.example/x" rel="nofollow">Other</a></p>
  <p><a href="/photo.JPG">photo</a> <a href="mailto:a@b.example">mail</a> <a href="javascript:void(0)">js</a>
     <a href="#top">top</a> <a href="">empty</a> <a href="https://[broken">broken</a>
     <a href="index.html#x">self</a></p>
  <map><area href="/map.html" alt="Map" title="Map"></map>
</main>
<footer><a href="/imprint">Imprint</a></footer>
</body></html>"""


def links(page: str) -> dict[str, Link]:
    return {link.url: link for link in find_links(parse_html(page.encode()), URL, now=NOW)}


def test_a_page() -> None:
    site = "https://site.example"
    found = links(PAGE)
    assert [(url, link.text, link.where.value) for url, link in found.items()] == [
        (f"{site}/", "Home", "navigation"),
        (f"{site}/sport/", "all of sport", "body"),
        (f"{site}/politics/", "Politics", "navigation"),
        (f"{site}/world/", "World", "navigation"),
        (f"{site}/news/1.html", "Bridge opens after ten years", "body"),
        (f"{site}/news/2.html", "Only a picture", "body"),
        (f"{site}/3.html", "In an article header", "body"),
        (f"{site}/page/2", "2", "navigation"),
        (f"{site}/4.html", "Most read", "navigation"),
        ("https://other.example/x", "Other", "body"),
        (f"{site}/map.html", "Map", "body"),
        (f"{site}/imprint", "Imprint", "navigation"),
    ]


def test_a_headline_gets_the_time_next_to_it() -> None:
    found = links(PAGE)
    assert found["https://site.example/news/1.html"].published_at == datetime(2024, 12, 31, 7, tzinfo=UTC)
    assert [link.url for link in found.values() if link.published_at] == ["https://site.example/news/1.html"]


def test_a_time_next_to_several_headlines_is_ignored() -> None:
    headlines = "<a href=/1>one two three four</a><a href=/2>five six seven eight</a>"
    page = f"<div><time datetime='2024-12-31'></time>{headlines}</div>"
    assert all(link.published_at is None for link in links(page).values())


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://cdn.example/a/", "https://cdn.example/a/x"),
        ("/b/", "https://site.example/b/x"),
        ("http://[", "https://site.example/news/x"),
        ("javascript:1", "https://site.example/news/x"),
    ],
)
def test_base(base: str, expected: str) -> None:
    assert list(links(f"<html><head><base href='{base}'></head><body><a href=x>y</a></body></html>")) == [
        expected
    ]


def test_absolute_links_are_not_changed() -> None:
    page = "<a href=' https://Site.Example/Привет?a=1&b=2 '>x</a><a href='HTTPS://site.example/b'>y</a>"
    assert list(links(page)) == ["https://Site.Example/Привет?a=1&b=2", "HTTPS://site.example/b"]


def test_links_that_look_like_articles_are_kept_if_there_are_too_many_links() -> None:
    junk = "".join(f"<a href='/tag/some-tag-{number}'>Some tag</a>" for number in range(MAX_LINKS + 500))
    stories = [f"/2026/11/20/a-long-story-about-the-bridge-{number}" for number in range(20)]
    codes = [f"/x{number}" for number in range(20)]  # not article URLs, but the text is a headline
    title = "A headline of more than five words"
    body = junk + "".join(f"<p><a href='{path}'>{title}</a></p>" for path in stories + codes)
    found = [link.url for link in find_links(parse_html(f"<body>{body}</body>".encode()), URL)]
    assert len(found) == MAX_LINKS
    assert found[-40:] == ["https://site.example" + path for path in stories + codes]
    assert found[0].endswith("/tag/some-tag-0"), "must be in the order of the page"


@pytest.mark.parametrize(
    "names",
    [
        "menu",
        "main-menu",
        "c-nav__list",
        "site-footer",
        "breadcrumbs",
        "topbar",
        "social",
        "b-footer",
        "pageHeader mainNav",
    ],
)
def test_names_of_navigation(names: str) -> None:
    assert is_navigation_name(names)


@pytest.mark.parametrize(
    "names",
    [
        "has-menu",
        "teaser__header",
        "article-header",
        "navy",
        "l-with-sidebar",
        "headline",
        "footnote",
        "content",
    ],
)
def test_names_of_content(names: str) -> None:
    assert not is_navigation_name(names)


TAGS = """<a href='/x'>|</a>
<nav>|</nav>|<base href='|'>|<time datetime='2024-01-01'>|<div class='menu'>|</div>
<html>|<p>|text|http://a.example/|<a href='http://[x'>|<img alt='|&amp;|&|<|>|\0|<!--|-->
<svg><a href='/y'>|<template>"""
PIECES = st.sampled_from(TAGS.replace("\n", "|").split("|"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join))
def test_links_of_any_page_are_absolute(page: str) -> None:
    try:
        tree = parse_html(page.encode("utf-8", "surrogatepass"))
    except NotAnArticle:
        return
    for link in find_links(tree, URL, now=NOW):
        assert link.url.lower().startswith(("http://", "https://"))
        assert "#" not in link.url
        assert link.where in (Where.BODY, Where.NAVIGATION)
