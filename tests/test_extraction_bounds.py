"""More hostile pages: fields that are repeated, nested or endless."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from newsbot.pages.extraction import extract, next_page, parse_html
from tests.extraction_pages import URL, is_within_bounds
from tests.test_extraction_hostile import LD, START, TITLE


def linked(value: object) -> bytes:
    """Return a value as JSON-LD."""
    return LD + json.dumps(value).encode() + b"</script>"


PAGES: dict[str, Callable[[], bytes]] = {
    "boxes around half the page": lambda: START
    + b"<time><h1><div class='date author'>" * 60 + b"<b></b>" * 45_000,
    "times in times": lambda: START + b"<time>" * 200 + b"<b></b>" * 100_000,
    "headings in headings": lambda: START + b"<div><h1>" * 50 + b"<b></b>" * 100_000,
    "dates in dates": lambda: START + b"<div class=date>" * 200 + b"<b></b>" * 100_000,
    "cards in the depth": lambda: START + b"<div>" * 240 + b"<b class=fn>x</b>" * 100_000,
    "names of one item": lambda: START
    + b"<div itemscope itemtype=//schema.org/Article><b itemprop=headline>x</b>" + b"<div>" * 230
    + b"<b itemprop='" + b"name " * 450_000 + b"'>x</b>",
    "attributes": lambda: START + b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">x</p>",
    "attributes of many": lambda: START
    + (b"<p " + b" ".join(b"a%d=1" % n for n in range(40)) + b">x</p>") * 15_000,
    "attributes without value": lambda: START
    + (b"<p " + b" ".join(b"a%d" % n for n in range(80)) + b">x</p>") * 15_000,
    "bylines behind a label": lambda: START + (b"<p>By " + b"Jane Doe " * 10 + b"</p>") * 10_000,
    "long bylines": lambda: START
    + ("<span class=byline>" + "가=나다 " * 40 + "</span>").encode() * 5000,
    "captions that may end with a name": lambda: START + (b"<p>" + b"(photo: a" * 20 + b"</p>") * 5000,
    "scripts": lambda: START + b"<script>var a = 1</script>" * 100_000,
    "JSON-LD scripts": lambda: START + (LD + b"{}</script>") * 60_000,
    "JSON-LD of a megabyte": lambda: START
    + linked([{"@type": "NewsArticle", "headline": f"Rain {n}", "author": "A B"} for n in range(14_000)]),
    "authors in JSON-LD": lambda: START
    + linked({"@type": "NewsArticle", "headline": TITLE, "author": [f"A{n} B" for n in range(80_000)]}),
    "entities of entities": lambda: b"<!DOCTYPE html [<!ENTITY a '" + b"x" * 99 + b"'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 9))
    + b"]>" + START + b"&a8;" * 50,
    "bytes of no charset": lambda: START + b"<p>" + bytes(range(128, 256)) * 20_000,
    "escapes of a charset": lambda: b"<meta charset=iso-2022-jp>" + START + b"\x1b$B" * 500_000,
    "bylines of brackets": lambda: (b'<meta name=author content="' + b"(" * 990 + b'">') * 2400 + START,
    "bylines of bylines": lambda: (b'<meta name=author content="' + b"text and by " * 80 + b'">') * 2400
    + START,
    "dates that are none": lambda: START
    + (b"<div class=date>" + b"2024 . 12:12 12. 1 may of " * 12 + b"</div>") * 5000,
    "times": lambda: START + b"<time datetime='2024-05-03T10:00'>3 May 2024</time>" * 50_000,
    "cells of one row": lambda: START + b"<table><tr>" + b"<td>cell of a table text</td>" * 17_000,
    "a table": lambda: START + b"<table>" + (b"<tr>" + b"<td>cell text</td>" * 10 + b"</tr>") * 10_000,
    "breaks": lambda: START + b"<p>" + b"a line of text<br>" * 300_000,
    "class names": lambda: START + (b"<div class='" + b"a-b_c " * 400 + b"'>x</div>") * 1000,
    "offers in a footer": lambda: START
    + b"<footer>" + (b"<span>" + b"subscribe log in to register become a member " * 8 + b"</span>") * 6500,
    "pictures in pictures": lambda: START + b"<figure>" * 200 + b"<b></b>" * 100_000,
    "declarations without end": lambda: START + b"<![CDATA[" * 150_000,
    "tags without end": lambda: START + b"<i " * 200_000,
    "separators": lambda: b"<meta property=og:title content='" + b" - a" * 4000 + b"'>" + START,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_time_is_bounded(name: str) -> None:
    assert is_within_bounds(partial(extract, PAGES[name](), URL))


CHILD = """
import resource, sys
from newsbot.pages.extraction import extract, read_page
start, page = sys.argv[1].encode(), sys.stdin.buffer.read()
extract(start, "http://a.test/")
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 200 * 1024 * 1024,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
print(bool(read_page(page, "http://a.test/", vouched=True).text))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "attributes",
        "attributes of many",
        "attributes without value",
        "authors in JSON-LD",
        "entities of entities",
        "a table",
        "breaks",
        "scripts",
    ],
)
def test_a_child_without_memory_reads_a_hostile_page(name: str) -> None:
    """The limit is not a measured peak: the process can allocate only 200 MB after the imports."""
    command = [sys.executable, "-c", CHILD, START.decode()]
    done = subprocess.run(command, input=PAGES[name](), stdout=subprocess.PIPE, check=True)
    assert done.stdout.strip() == b"True"


def test_many_next_pages() -> None:
    tree = parse_html(b"<link rel=next href=/x>" * 80_000 + START)
    assert next_page(tree, URL) is None
    assert is_within_bounds(partial(next_page, tree, URL))
