"""Replacements of trafilatura's XPath searches find the same elements."""

from __future__ import annotations

from copy import copy

import pytest
import trafilatura
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement, document_fromstring
from trafilatura import xpaths

from newsbot.extraction.blocks import render
from newsbot.extraction.body import local_search as localsearch
from newsbot.extraction.body.extractor import main_part
from newsbot.extraction.body.local_search import GuardedSearch, JointSearch, LocalSearch, quicker
from newsbot.extraction.strings import word_list

LISTS = (
    "BODY_XPATH",
    "REMOVE_COMMENTS_XPATH",
    "REMOVE_COMMENTS_AND_LISTS_XPATH",
    "RAW_TREE_PRUNE_XPATH",
    "OVERALL_DISCARD_XPATH",
    "TEASER_DISCARD_XPATH",
    "PRECISION_DISCARD_XPATH",
    "DISCARD_IMAGE_ELEMENTS",
)
SEARCHES = [search for name in LISTS for search in getattr(xpaths, name)]
QUICK = [quicker(search) for search in SEARCHES]
WORDS = word_list(
    "post entry article-body story content main-content page-content fulltext text share Share sidebar",
    "widget teaser Teaser bottom link border comment-list comments disqus_thread respond hidden hide-print",
    "message nav Navigation cookie infinite-scroll mvp-post-add-box elementor-share-buttons caption row x",
)
values = st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join)
names = st.sampled_from(
    (
        "class",
        "id",
        "role",
        "style",
        "itemprop",
        "aria-hidden",
        "data-component",
        "data-lp-replacement-content",
    )
)
elements = st.tuples(
    st.sampled_from(
        ("div", "section", "p", "span", "list", "item", "ol", "ul", "article", "main", "h1", "details")
    ),
    st.dictionaries(names, values | st.just("display:none") | st.just("true"), max_size=4),
    st.integers(0, 3),
)
"""Tag, attributes, and how many levels up the next element is added."""


def tree_of(parts: list[tuple[str, dict[str, str], int]]) -> HtmlElement:
    root = document_fromstring("<html><body></body></html>")
    at: etree._Element = root[0]
    for tag, attributes, up in parts:
        at = etree.SubElement(at, tag, attributes)
        for _ in range(up):
            parent = at.getparent()
            at = parent if parent is not None and parent.tag != "html" else at
    return root


@given(st.lists(elements, max_size=12))
def test_they_find_what_xpath_finds(parts: list[tuple[str, dict[str, str], int]]) -> None:
    tree = tree_of(parts)
    for search, quick in zip(SEARCHES, QUICK, strict=True):
        found, expected = quick(tree), search(tree)
        assert found[:1] == expected[:1], search.path
        assert found == expected or len(found) == 1, search.path


JOINED = [
    [*xpaths.RAW_TREE_PRUNE_XPATH, *xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH],
    list(xpaths.OVERALL_DISCARD_XPATH),
]


@pytest.mark.parametrize("searches", JOINED)
@given(parts=st.lists(elements, max_size=12))
def test_together_they_find_what_each_finds(
    searches: list[etree.XPath], parts: list[tuple[str, dict[str, str], int]]
) -> None:
    tree = tree_of(parts)
    quick = [quicker(search) for search in searches]
    assert all(isinstance(search, LocalSearch | GuardedSearch) for search in quick)
    assert JointSearch(quick)(tree) == [element for search in quick for element in search(tree)]


@pytest.mark.parametrize("searches", [xpaths.BODY_XPATH, xpaths.PRECISION_DISCARD_XPATH])
def test_searches_that_see_more_or_the_first_only_are_not_joined(searches: list[etree.XPath]) -> None:
    with pytest.raises(ValueError, match="each element alone"):
        JointSearch([quicker(search) for search in searches])


def test_a_path_that_ends_with_the_first_gives_one_and_others_all() -> None:
    tree = tree_of([("div", {"class": "teaser"}, 1), ("p", {"id": "teaser"}, 1)])
    assert len(LocalSearch(xpaths.TEASER_DISCARD_XPATH[0].path)(tree)) == 2
    tree = tree_of([("div", {"class": "post"}, 1), ("div", {"class": "post"}, 1)])
    assert len(LocalSearch(xpaths.BODY_XPATH[0].path)(tree)) == 1


@pytest.mark.parametrize(
    "path",
    [
        ".//cite|.//quote",
        ".//div[@class]",
        ".//*[self::div][not(.//h1)]",
        ".//*[self::div][position() = 1]",
        ".//*[self::div][contains(text(), 'x')]",
        ".//*[self::div][not(@class)]",
        ".//*[@class",
        "",
    ],
)
def test_a_path_that_sees_more_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        LocalSearch(path)


def test_most_of_trafilaturas_searches_are_understood() -> None:
    assert sum(quick is not search for quick, search in zip(QUICK, SEARCHES, strict=True)) >= 9


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localsearch, "MAX_KNOWN", 10)
    search = LocalSearch(".//*[self::div][contains(@class, 'a')]")
    tree = tree_of([("div", {"class": f"a{number}"}, 1) for number in range(35)])
    tree[0][0].set("class", "a" * 1000)
    assert len(search(tree)) == 35
    assert 0 < len(search._memory._known) <= 10
    assert all(len(key[0][1]) < 1000 for key in search._memory._known)


PAGE = """<html><body><nav class="nav"><a href="/">Home</a></nav><div class="article-body"><h2>Part one</h2>
{text}<div class="share-buttons">Share this</div><ul><li>One point that is made</li><li>Another</li></ul>
<table><tr><td>Cell</td><td>Other</td></tr></table></div>
<div id="comments" class="comment-list"><p>I do not agree at all with this article.</p></div></body></html>"""


@pytest.mark.parametrize("count", [0, 1, 6])
def test_the_main_part_is_that_of_trafilatura(count: int) -> None:
    line = (
        "<p>Paragraph {} of the text has words enough, a <b>strong</b> one and <a href='/x'>a link</a>.</p>"
    )
    tree = document_fromstring(PAGE.format(text="".join(line.format(number) for number in range(count))))
    found = main_part(copy(tree))
    expected = trafilatura.bare_extraction(
        tree, fast=True, favor_precision=True, include_comments=False, with_metadata=False
    )
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert not isinstance(expected, dict)
    assert render([found]) == render([expected.body])
