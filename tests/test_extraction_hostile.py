"""Hostile pages: time and memory are bounded, and the only error is NotAnArticle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.errors import NotAnArticle
from newsbot.items import Article
from newsbot.pages.extraction import extract
from newsbot.pages.extraction.page import load
from tests.extraction_pages import (
    NOW,
    TEXT,
    URL,
    from_feed,
    is_within_bounds,
    json_ld,
    layout,
    page,
    read,
    rule,
    saved,
)

TITLE = "Rain closes the road"
START = f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{TEXT}".encode()
LD = b'<script type="application/ld+json">'

PAGES: dict[str, Callable[[], bytes]] = {
    "nested tags": lambda: START + b"<div>" * 100_000 + b"<p>deep</p>" + b"</div>" * 100_000,
    "nested inline tags": lambda: START + b"<b>x " * 100_000,
    "one line of 10 MB": lambda: START + b"<p>" + b"word and word " * 700_000 + b"</p>",
    "5 MB of paragraphs": lambda: START + b"<p>some paragraph of text is here</p>" * 140_000,
    "5 MB of links": lambda: START + b'<p><a href="/x">a link text that is long enough</a></p>' * 80_000,
    "tags that never end": lambda: START + b"<a " * 1_000_000,
    "nothing but brackets": lambda: b"<" * 5_000_000,
    "open comments": lambda: START + b"<!--" * 1_000_000,
    "entities": lambda: START + b"<p>" + b"&amp;amp;" * 500_000,
    "nested JSON": lambda: START + LD + b"[" * 100_000,
    "nested JSON objects": lambda: START + LD + b'{"@type":"NewsArticle","headline":"x","a":' * 20_000,
    "bad escapes in JSON": lambda: START + LD + b'{"@type":"NewsArticle","headline":"x' + b"\\q" * 400_000,
    "commas in JSON": lambda: START + LD + b"[" + b", " * 400_000 + b"x",
    "open strings in scripts": lambda: b"<p>x</p><script>" + b'\\"' * 400_000 + b"</script>",
    "metas": lambda: b'<head><meta name="author" content="Ann Lee, Bob Ray">' * 50_000 + START,
    "a title of separators": lambda: b"<title>" + b"a - " * 1_000_000 + b"</title>" + START,
    "bylines": lambda: START + b'<span class="author">by ' + b"a, " * 500_000 + b"</span>",
    "date elements": lambda: START + b'<div class="date">12.12.</div>' * 100_000,
    "dates in one link": lambda: START + b"<div><a href=/x>" + b"<i>3 May 2021</i>" * 8000 + b"</a></div>",
    "cards": lambda: START + b"<p><b><a href=/x>Another headline of it</a></b><i>3 May 2021</i></p>" * 9000,
    "dates behind empty tags": lambda: START + b"<div>" + b"<b></b>" * 40_000 + b"<p>3 May 2021</p>" * 9000,
    "digits": lambda: START + b'<div class="date">' + b"1" * 3_000_000 + b"</div>",
    "nested tables": lambda: START + (b"<table><tr><td>a b" * 40 + b"</td></tr></table>" * 40) * 90,
    "microdata": lambda: START + b"<div itemscope itemtype=//schema.org/Article itemprop=name>" * 20_000,
    "classes and ids in one box": lambda: START + b"<a class=x id=x>x</a> " * 50_000,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_time_is_bounded(name: str) -> None:
    assert is_within_bounds(partial(extract, PAGES[name](), URL))


@pytest.mark.parametrize("part", [b"<a class=cart>x</a> ", b"<b itemprop=price>1</b>"])
def test_time_is_bounded_for_a_shop(part: bytes) -> None:
    html = START + b"<p>19 EUR</p><header>" + b"<div>" * 200 + part * 50_000
    assert is_within_bounds(partial(outcome, html, vouched=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one line of 10 MB", "5 MB of paragraphs", "5 MB of links", "nested tags"])
def test_memory_is_bounded(name: str) -> None:
    """Memory growth compared with an interpreter that has read a small page. The page is not counted."""
    script = (
        "import resource, sys; from newsbot.pages.extraction import extract\n"
        "from tests.test_extraction_hostile import PAGES, START\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "extract(START, 'http://a.test/'); page = PAGES[sys.argv[1]](); before = peak()\n"
        "extract(page, 'http://a.test/'); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 * 1024


def test_text_before_elements_that_are_nested_too_deep_is_kept() -> None:
    assert "sandbags" in read(PAGES["nested tags"]()).text


def outcome(html: bytes, url: str = URL, *, vouched: bool = True) -> Article | str:
    try:
        return read(html, url, vouched=vouched)
    except NotAnArticle as error:
        return error.reason


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_give_an_article_or_a_reason(raw: bytes) -> None:
    assert outcome(raw)
    assert outcome(START + raw)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 3000),
    st.binary(min_size=1, max_size=8),
    st.sampled_from(["news_jsonld.html", "microdata.html"]),
)
def test_broken_pages(at: int, raw: bytes, name: str) -> None:
    html = saved(name)
    assert outcome(html[:at])
    assert outcome(html[:at] + raw + html[at:])


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_url(url: str) -> None:
    assert outcome(START, url)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["@type", "@id", "name", "url"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["headline", "author", "datePublished", "dateModified", "image", "keywords", "articleBody", "url"]
        ),
        VALUES,
    )
)
def test_any_json_ld(node: dict[str, object]) -> None:
    assert outcome(page(json_ld(json.dumps({"@type": "NewsArticle", **node}))))


@pytest.mark.parametrize(
    "script",
    [
        '<!-- {"@type":"Article","headline":"H"} -->',
        '//<![CDATA[\n{"@type":"Article","headline":"H"}\n//]]>',
        '{"@type":"Article","headline":"H",}',
        '[{"@type":"Article","headline":"H"},]',
        '{"@type":"Article","headline":"H"};',
        '{"@type":"Article","headline":"H"}{"@type":"Thing"}',
        '{"@type":"Article","note":"don\\\'t","headline":"H"}',
        '{"@type":"Article","note":"two\nlines","headline":"H"}',
        '{"@type":"Article","headline":"H","note":"a "quoted" word"}',
    ],
)
def test_broken_json_is_repaired_in_simple_cases(script: str) -> None:
    documents = load(script)
    first = documents[0][0] if isinstance(documents[0], list) else documents[0]
    assert first["headline"] == "H"


@pytest.mark.parametrize(
    "script",
    [
        '{"@type":"Article","headline":"A "dry" year","author":{"name":"A B"},"datePublished":"2024-05-03"}',
        '{"@type":"Article","articleBody":"He said "no".","author":["A B"],"datePublished":"2024-05-03"',
        '{"@type":"NewsArticle", // ours\n"author":"A B","datePublished":"2024-05-03"}',
        '{"@type":"Article","author":"A B","datePublished":"2024-05-03"}'.replace('"', "&quot;"),
    ],
)
def test_single_values_of_json_that_cannot_be_repaired(script: str) -> None:
    article = read(b'<script type="application/ld+json">' + script.encode() + b"</script>" + START)
    assert article.authors == ["A B"]
    assert article.published_at == datetime(2024, 5, 3, tzinfo=UTC)
    assert article.title == TITLE


def test_text_that_is_not_json_gives_no_values() -> None:
    assert load("not json at all") == []
    assert load("") == []


def test_a_rule_on_a_hostile_page() -> None:
    chosen = rule(layout(text="p", title="h1", authors="span", published_at="div", remove=("b",)))
    article = read(PAGES["5 MB of paragraphs"](), rule=chosen, hint=from_feed("x", NOW))
    assert article.extraction["text"] == "rule"
