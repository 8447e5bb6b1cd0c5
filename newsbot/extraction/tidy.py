"""Lines that stand among the paragraphs of an article but are no part of it."""

from __future__ import annotations

from newsbot.extraction.blocks import Block


def tidy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without them."""
    return blocks
