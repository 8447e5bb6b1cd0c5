"""Applies the selectors of a site's rule to a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import TypeAlias

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.extraction.body.pieces import render
from newsbot.pages.extraction.visible import Block, hidden_elements, text_of
from newsbot.pages.rules.rule import Layout, Rule, Selector
from newsbot.pages.text.words import plain, resolved, squash

MAX_HITS = 2000
"""Maximum number of results of one selector."""
MAX_SIBLINGS = 1_000_000
"""Maximum number of pairs of siblings on a page. It applies to selectors that look at siblings.

Such selectors take quadratic time.
"""
MAX_NESTED = 200_000
"""Maximum number of pairs of an element and an ancestor. It applies to selectors with several steps to
descendants.

On deeply nested pages, such selectors take quadratic time, and libxml2 cannot stop a running XPath.
"""
# "..": the step after it usually goes from the parent down to the siblings.
_SIBLINGS = re.compile(r"-sibling\s*::|\.\.|parent\s*::")
# Two steps to descendants or ancestors: //div//p.
_NESTED = re.compile(r"(?://|descendant|ancestor|\|).*(?://|descendant|ancestor)", re.DOTALL)

Hit: TypeAlias = HtmlElement | str
"""One result of a selector: an element, or a string such as the value of an attribute."""


def layout_for(rule: Rule | None, published: datetime | None, now: datetime) -> Layout | None:
    """Return the layout of the rule that was valid on the day of publication.

    A layout is a set of selectors. If the day of publication is unknown, the day of ``now`` is used. The
    result is None if there is no rule or the rule has no layouts.
    """
    if rule is None or not rule.layouts:
        return None
    day = (published or now).date()
    for layout in rule.layouts:  # newest first
        if layout.valid_from is None or layout.valid_from <= day:
            return layout
    # The article is older than all layouts. The oldest layout probably fits best.
    return min(rule.layouts, key=lambda layout: layout.valid_from or date.min)


class Selected:
    """Applies the selectors of a layout to a tree.

    A field may have several selectors. The first selector with a result is used.
    """

    def __init__(self, tree: HtmlElement, layout: Layout | None) -> None:
        self._tree = tree
        self._layout = layout
        self._removed: frozenset[HtmlElement] | None = None
        self._pairs: tuple[int, int] | None = None

    def names(self, field: str) -> bool:
        """True if the layout has selectors for ``field``."""
        return self._layout is not None and bool(self._layout.extract.get(field))

    def strings(self, field: str) -> list[str]:
        """Return the values of ``field``, each on one line.

        The value of ``<meta>`` is its ``content``, and the value of ``<time>`` is its ``datetime``. The value
        of any other element is its text.
        """
        return self._values(field, _as_string)

    def string(self, field: str) -> str | None:
        """Return the first value of :meth:`strings`, or None if there is none."""
        return next(iter(self.strings(field)), None)

    def addresses(self, field: str) -> list[str]:
        """Return the values of ``field`` as URLs, which may be relative.

        The value of an element is its first attribute among ``data-src``, ``src``, ``href`` and ``content``.
        """
        return self._values(field, _as_address)

    def _values(self, field: str, convert: Callable[[Hit], str]) -> list[str]:
        for selector in self._selectors(field):
            values = [value for hit in self._hits(selector) if (value := convert(hit))]
            if values:
                return values
        return []

    def blocks(self, field: str = "text") -> list[Block]:
        """Return the text of ``field`` as blocks in page order."""
        removed = self.removed | hidden_elements(self._tree)
        for selector in self._selectors(field):
            blocks: list[Block] = []
            for hit in _outermost(self._hits(selector)):
                if isinstance(hit, str):
                    blocks.extend(
                        Block("paragraph", line) for line in map(squash, resolved(hit).splitlines()) if line
                    )
                else:
                    blocks.extend(render([hit], removed))
            if blocks:
                return blocks
        return []

    @property
    def removed(self) -> frozenset[HtmlElement]:
        """The elements that the layout's ``remove`` selectors match."""
        if self._removed is None:
            selectors = self._layout.remove if self._layout is not None else ()
            hits = [hit for selector in selectors for hit in self._run(selector)]
            self._removed = frozenset(hit for hit in hits if isinstance(hit, HtmlElement))
        return self._removed

    def _selectors(self, field: str) -> Sequence[Selector]:
        return self._layout.extract.get(field, ()) if self._layout is not None else ()

    def _hits(self, selector: Selector) -> list[Hit]:
        hits = self._run(selector)
        if not self.removed:
            return hits
        return [hit for hit in hits if isinstance(hit, str) or not self._is_removed(hit)]

    def _is_removed(self, element: HtmlElement) -> bool:
        return element in self.removed or any(
            ancestor in self.removed for ancestor in element.iterancestors()
        )

    def _run(self, selector: Selector) -> list[Hit]:
        """Return the results of one selector.

        The list is empty if the selector fails on this page or would take too long.
        """
        if not self._is_affordable(selector.xpath):
            return []
        try:
            found = _compiled(selector.xpath)(self._tree)
        except etree.XPathError:
            return []
        if isinstance(found, str):
            return [str(found)] if found.strip() else []
        if not isinstance(found, list):  # the XPath returned a number or a boolean
            return []
        return [
            hit if isinstance(hit, HtmlElement) else str(hit)
            for hit in found[:MAX_HITS]
            if isinstance(hit, HtmlElement | str)
        ]

    def _is_affordable(self, xpath: str) -> bool:
        """True unless the page is so large or deep that ``xpath`` would take too long."""
        siblings, nested = _SIBLINGS.search(xpath), _NESTED.search(xpath)
        if not siblings and not nested:
            return True
        # The pairs are counted once per page, and only if a selector needs them.
        if self._pairs is None:
            self._pairs = pairs(self._tree)
        return not (siblings and self._pairs[0] > MAX_SIBLINGS) and not (
            nested and self._pairs[1] > MAX_NESTED
        )


def pairs(tree: HtmlElement) -> tuple[int, int]:
    """Return two numbers for a tree: pairs of siblings, and pairs of an element and one of its ancestors."""
    siblings = nested = depth = 0
    level = [tree]
    while level:
        siblings += sum(len(element) ** 2 for element in level)
        nested += depth * len(level)
        level = [child for element in level for child in element]
        depth += 1
    return siblings, nested


@lru_cache(maxsize=4096)
def _compiled(xpath: str) -> etree.XPath:
    return etree.XPath(xpath)


def _outermost(hits: list[Hit]) -> list[Hit]:
    """Return ``hits`` without elements that are inside other hits, so that no text is repeated."""
    elements = {hit for hit in hits if not isinstance(hit, str)}
    return [
        hit
        for hit in hits
        if isinstance(hit, str) or not any(above in elements for above in hit.iterancestors())
    ]


def _as_string(hit: Hit) -> str:
    if isinstance(hit, str):
        return plain(hit)
    if hit.tag == "meta":
        return plain(hit.get("content") or "")
    if hit.tag == "time":
        return plain(hit.get("datetime") or "") or text_of(hit)
    return text_of(hit) or plain(hit.get("content") or "")


def _as_address(hit: Hit) -> str:
    if isinstance(hit, str):
        return hit.strip()
    # Before a script runs, the src of a lazily loaded picture is only a placeholder.
    return next(
        (value.strip() for name in ("data-src", "src", "href", "content") if (value := hit.get(name))), ""
    )
