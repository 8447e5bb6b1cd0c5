"""Finds the elements whose markup names an author, in one walk over the page.

XPath searches would take several times as long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

MAX_SURE = 20
"""Maximum number of elements in :attr:`AuthorMarks.sure`."""
MAX_NAMED = 40
"""Maximum number of elements in :attr:`AuthorMarks.named`."""
MAX_LOOKED_AT = 2000
"""Maximum number of elements that are checked in full after a quick test of their attributes."""
_NO_BYLINE = frozenset({"body", "html", "article", "main", "script", "img"})
_is_named = re.compile("[Aa]ut(?:h?or|eur)|[Bb]yline|avtor").search
# Attributes that may name an author.
_LOOKED_AT = frozenset({"class", "id", "rel", "href", "data-testid"})
_AUTHOR_PATHS = ("/author/", "/autor/", "/autoren/", "/auteur/")


@dataclass(frozen=True, slots=True)
class AuthorMarks:
    """The elements of a page whose markup names an author, in page order."""

    sure: list[HtmlElement] = field(default_factory=list)
    """Links to an author, and names in hCard and microformats2 (https://microformats.org)."""
    named: list[HtmlElement] = field(default_factory=list)
    """Elements whose class, id or test id mentions an author."""


def author_marks(tree: HtmlElement) -> AuthorMarks:
    """Return the elements of a page whose markup names an author."""
    marks = AuthorMarks()
    known: dict[HtmlElement, bool] = {}
    left = MAX_LOOKED_AT
    for element in tree.iter(etree.Element):
        attributes: Any = element.items()
        for name, value in attributes:
            # This test runs for each attribute of the page. Searching substrings is faster than any regex.
            if name in _LOOKED_AT and (
                "aut" in value or "Aut" in value or "yline" in value or "avtor" in value or "fn" in value
            ):
                if len(marks.sure) < MAX_SURE and _is_sure(element, known):
                    marks.sure.append(element)
                if len(marks.named) < MAX_NAMED and _is_named_byline(element):
                    marks.named.append(element)
                left -= 1
                if not left:
                    return marks
                break
    return marks


def _is_sure(element: HtmlElement, known: dict[HtmlElement, bool]) -> bool:
    if element.tag == "a":
        href = element.get("href") or ""
        if " author " in f" {element.get('rel')} " or any(path in href for path in _AUTHOR_PATHS):
            return True
    named = f" {element.get('class') or ''} "
    return (" fn " in named or " p-author " in named) and _in_author_box(element, known)


def _is_named_byline(element: HtmlElement) -> bool:
    if element.get("rel") == "author":
        return True
    named, tested = element.get("class"), element.get("data-testid")
    return element.tag not in _NO_BYLINE and bool(
        (named and _is_named(named))
        or "author" in (element.get("id") or "")
        or (tested and ("author" in tested or "byline" in tested))
    )


def _in_author_box(element: HtmlElement, known: dict[HtmlElement, bool]) -> bool:
    """True if the class of the element, or of one around it, mentions an author or a byline.

    ``known`` caches the results by element.

    Without the cache, a deeply nested page with many names would take quadratic time.
    """
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
