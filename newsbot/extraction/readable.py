"""The main text by readability, the method of reader views; it votes where others disagree."""

from __future__ import annotations

import logging

from lxml import etree
from lxml.html import HtmlElement, fromstring, tostring
from readability import Document

from newsbot.extraction.blocks import Block, render

logging.getLogger("readability").setLevel(logging.CRITICAL)  # a page that it cannot read is no news


def readable(tree: HtmlElement) -> list[Block]:
    """Return the blocks that readability takes for the article, empty if none; the tree stays as it is."""
    try:
        # It reads the page anew when its first try finds little, so it gets markup, not a tree to spoil.
        found = Document(tostring(tree, encoding="unicode")).summary(html_partial=True)
    except Exception:  # noqa: BLE001 - a fault of the library costs one vote, not the page
        return []
    try:
        return render([fromstring(found)])
    except (etree.ParserError, ValueError, AssertionError):  # nothing was left
        return []
