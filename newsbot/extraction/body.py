"""The text of an article by trafilatura, and where it cannot run, by density."""

from __future__ import annotations

import logging
from collections.abc import Collection
from copy import copy

import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.blocks import Block, render
from newsbot.extraction.density import densest

MAX_ELEMENTS = 12_000
"""Larger pages are read by density alone: trafilatura's time grows faster than the page."""

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # "discarding data" is no news to a crawler

_USELESS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas", "link", "meta", "button",
    "select", "figcaption", "form", "input", "textarea", "dialog",
)  # fmt: skip


def generic_body(tree: HtmlElement, removed: Collection[etree._Element] = ()) -> tuple[list[Block], str]:
    """Return the blocks of the main text and the method (``trafilatura`` or ``density``).

    ``removed`` are elements of ``tree`` that a rule takes out. The tree itself is not changed.
    """
    lean = _lean_copy(tree, removed)
    etree.strip_elements(lean, *_USELESS, with_tail=False)
    if _size(lean) > MAX_ELEMENTS:
        return densest(lean), "density"
    document = trafilatura.bare_extraction(
        lean, favor_precision=True, include_comments=False, include_images=False, include_links=False, with_metadata=False
    )
    blocks = render([document.body]) if document is not None and not isinstance(document, dict) else []
    if blocks:
        return blocks, "trafilatura"
    return densest(lean), "density"


def _lean_copy(tree: HtmlElement, removed: Collection[etree._Element]) -> HtmlElement:
    """Return a copy without what is no text, so that the extractor's own copies cost little."""
    if removed:
        numbers = [index for index, element in enumerate(tree.iter()) if element in removed]
        lean = copy(tree)
        elements = list(lean.iter())
        for index in numbers:
            elements[index].tag = "script"  # goes with the others below
    else:
        lean = copy(tree)
    return lean


def _size(tree: HtmlElement) -> int:
    return sum(1 for _ in tree.iter(etree.Element))
