"""Proposes CSS selectors for a site that select the title or the text on each of some pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree
from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from newsbot.errors import NotAnArticle
from newsbot.extraction.page.parse import parse_html

Sample = tuple[bytes, dict[str, Any]]
"""The body of a page, and the item that was read from it."""

_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{2,40}")
"""Matches a class or an id that may be the same on other pages.

Names with digits do not match, because they are often generated for one page.
"""
_FIRST = 50
"""Number of characters at the start of a paragraph that are compared."""
_ENOUGH = 0.8
"""Minimum share of an article's paragraphs that an element must contain."""
_MAX_ELEMENTS = 3000
"""Maximum number of elements of a page that are examined."""


def propose(samples: Sequence[Sample]) -> dict[str, str]:
    """Return CSS selectors that work on all pages, by the name of the field (``title`` and ``text``).

    A field without such a selector is missing. At least two pages are needed, because a selector from a
    single page may work on this page only.
    """
    trees = []
    for page, item in samples:
        try:
            trees.append((parse_html(page, None), item))
        except NotAnArticle:
            continue
    if len(trees) < 2:
        return {}
    found = {}
    for field, names in (("title", _of_title), ("text", _of_text)):
        for selector in names(*trees[0]):
            if all(_holds(field, selector, tree, item) for tree, item in trees):
                found[field] = selector
                break
    return found


def _of_title(tree: HtmlElement, item: dict[str, Any]) -> Iterator[str]:
    """Yield selectors for the headings whose text is the title."""
    for element in tree.iter("h1", "h2"):
        if _plain(element) == _squeeze(item["title"]):
            yield from _names(element)


def _of_text(tree: HtmlElement, item: dict[str, Any]) -> Iterator[str]:
    """Yield selectors for the elements that contain the article's text and little else."""
    holders = [element for element in _elements(tree) if _covers(element, item)]
    for element in reversed(holders):  # the innermost first
        yield from _names(element)


def _holds(field: str, selector: str, tree: HtmlElement, item: dict[str, Any]) -> bool:
    """Return True if a selector finds exactly one element of a page, and this element is the right one."""
    try:
        found = CSSSelector(selector, translator="html")(tree)
    except etree.XPathError:
        return False
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], HtmlElement):
        return False
    return _plain(found[0]) == _squeeze(item["title"]) if field == "title" else _covers(found[0], item)


def _covers(element: HtmlElement, item: dict[str, Any]) -> bool:
    """Return True if an element contains most paragraphs of the article and not much more.

    The beginnings of paragraphs are compared, because extraction may have removed parts of them.
    """
    text = _plain(element)
    starts = [_squeeze(part)[:_FIRST] for part in item["text"].splitlines() if part.strip()]
    held = sum(start in text for start in starts)
    return (
        bool(starts) and held >= _ENOUGH * len(starts) and len(text) < 2 * len(_squeeze(item["text"])) + 200
    )


def _elements(tree: HtmlElement) -> list[HtmlElement]:
    found = []
    for element in tree.iter("article", "div", "section", "main", "td"):
        found.append(element)
        if len(found) >= _MAX_ELEMENTS:
            break
    return found


def _names(element: HtmlElement) -> Iterator[str]:
    """Yield selectors that match an element, the most stable ones first."""
    tag = str(element.tag)
    for name in (element.get("class") or "").split()[:6]:
        if _NAME.fullmatch(name):
            yield f"{tag}.{name}"
    if (name := element.get("id")) and _NAME.fullmatch(name):
        yield f"{tag}#{name}"
    if (name := element.get("itemprop")) and _NAME.fullmatch(name):
        yield f'{tag}[itemprop="{name}"]'
    yield tag


def _plain(element: HtmlElement) -> str:
    return _squeeze(" ".join(element.itertext("*")))


def _squeeze(text: str) -> str:
    return " ".join(text.split())
