"""The text of an article by trafilatura, and where it cannot run, by density."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from copy import copy
from itertools import pairwise

import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.blocks import Block, join, render
from newsbot.extraction.density import densest
from newsbot.extraction.strings import words
from newsbot.extraction.tidy import pointers

MAX_ELEMENTS = 18_000
"""Larger pages are read by density alone: trafilatura's time grows faster than the page."""

_DOUBT = 1.4
"""The precise text is doubted where the densest container holds so much more."""
_FULLER = 1.5

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # "discarding data" is no news to a crawler

_USELESS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "link", "meta", "button",
    "select", "figcaption", "input", "textarea", "dialog",
)  # fmt: skip


def generic_body(tree: HtmlElement, removed: Collection[etree._Element] = ()) -> tuple[list[Block], str]:
    """Return the blocks of the main text and the method (``trafilatura`` or ``density``).

    ``removed`` are elements of ``tree`` that a rule takes out. The tree itself is not changed.
    """
    lean = _lean_copy(tree, removed)
    for element in pointers(lean):
        element.tag = "script"
    etree.strip_elements(lean, *_USELESS, with_tail=False)
    if _size(lean) > MAX_ELEMENTS:
        return densest(lean), "density"
    blocks = _trafilatura(lean, precise=True)
    dense = densest(lean)
    if not blocks:
        return (dense, "density") if dense else ([], "none")
    if _length(dense) > _DOUBT * _length(blocks):  # a precise extractor stops early on some pages
        fuller = _trafilatura(lean, precise=False)
        if _length(fuller) > _FULLER * _length(blocks) and agreement(fuller, dense) > agreement(
            blocks, dense
        ):
            return fuller, "trafilatura-full"
    return blocks, "trafilatura"


def _trafilatura(lean: HtmlElement, *, precise: bool) -> list[Block]:
    try:
        document = trafilatura.bare_extraction(
            lean,
            favor_precision=precise,
            fast=not precise,
            include_comments=False,
            include_images=False,
            include_links=False,
            with_metadata=False,
        )
    except Exception:  # noqa: BLE001 - a fault of the library must not lose the page: density reads it
        return []
    return render([document.body]) if document is not None and not isinstance(document, dict) else []


def agreement(one: list[Block], other: list[Block]) -> float:
    """Return how much two texts have in common, 0 to 1: Dice's coefficient over pairs of words."""
    left, right = _pairs(one), _pairs(other)
    total = sum(left.values()) + sum(right.values())
    return 2 * sum((left & right).values()) / total if total else 0.0


def _pairs(blocks: list[Block]) -> Counter[tuple[str, str]]:
    found = words(join(blocks)[:100_000])
    return Counter(pairwise(found))


def _length(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


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
