"""Elements that markup names after authors, each kind in one walk; XPath takes several times as long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from lxml import etree
from lxml.html import HtmlElement

_is_named = re.compile("[Aa]uthor|[Bb]yline|avtor").search
_NO_BYLINE = frozenset({"body", "html", "article", "main", "script", "img"})
_AUTHOR_PATHS = ("/author/", "/autor/", "/autoren/", "/auteur/")


def named_bylines(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield elements that are named after authors, in order."""
    for element in tree.iter(etree.Element):
        if element.get("rel") == "author":
            yield element
        elif element.tag not in _NO_BYLINE:
            named, tested = element.get("class"), element.get("data-testid")
            if (
                (named and _is_named(named))
                or "author" in (element.get("id") or "")
                or (tested and ("author" in tested or "byline" in tested))
            ):
                yield element


def sure_names(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield elements that can be nothing but an author's name: links to an author, hCard and microformats."""
    known: dict[HtmlElement, bool] = {}
    for element in tree.iter(etree.Element):
        if element.tag == "a":
            href = element.get("href") or ""
            if " author " in f" {element.get('rel')} " or any(path in href for path in _AUTHOR_PATHS):
                yield element
                continue
        named = element.get("class")
        if (
            named
            and (" fn " in f" {named} " or " p-author " in f" {named} ")
            and _in_author_box(element, known)
        ):
            yield element


def _in_author_box(element: HtmlElement, known: dict[HtmlElement, bool]) -> bool:
    """True within a box that is named after authors; ``known`` keeps what was found for boxes."""
    passed: list[HtmlElement] = []
    found = False
    for box in chain((element,), element.iterancestors()):
        if box in known:
            found = known[box]
            break
        passed.append(box)
        named = box.get("class") or ""
        if "author" in named or "byline" in named:
            found = True
            break
    known.update(dict.fromkeys(passed, found))
    return found
