"""Text that a page carries only as data for its scripts (Next.js, Apollo and the like)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring

from newsbot.extraction.blocks import Block, render
from newsbot.extraction.strings import looks_like_code, size

MAX_SCRIPT = 1_000_000
LEAST = 200

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_PARAGRAPHS = re.compile(r"<(?:p|br|div)\b", re.IGNORECASE)


def embedded_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of the longest string with paragraphs in inline scripts; empty if there is none."""
    best: list[Block] = []
    most = LEAST
    for script in tree.iter("script"):
        for markup in _strings(script.text or "", depth=0):
            blocks = _blocks(markup)
            length = sum(size(block.text) for block in blocks)
            if length > most:
                best, most = blocks, length
    return best


def _strings(text: str, *, depth: int) -> Iterator[str]:
    """Yield string literals with paragraphs in them, also those inside of string literals."""
    text = text[:MAX_SCRIPT]
    at = text.find('"')
    while at >= 0:
        match = _STRING.match(text, at)
        if match is None:  # never closed
            return
        if match.end() - at > LEAST:
            value = _decoded(match[0])
            if _PARAGRAPHS.search(value):
                yield value
            elif depth < 2 and '"' in value:
                yield from _strings(value, depth=depth + 1)
        at = text.find('"', match.end())


def _decoded(literal: str) -> str:
    try:
        value = json.loads(literal, strict=False)
    except ValueError:  # an escape that JSON does not know
        return ""
    return value if isinstance(value, str) else ""


def _blocks(markup: str) -> list[Block]:
    try:
        blocks = render([fragment_fromstring(markup, create_parent="div")])
    except (etree.ParserError, ValueError, AssertionError):  # control characters, a declaration of encoding
        return []
    return [block for block in blocks if not looks_like_code(block.text)]
