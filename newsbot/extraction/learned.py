"""The main text by learned judgement: which pieces of the page belong to the article."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray

from newsbot.extraction.blocks import Block, Kind
from newsbot.extraction.clues import (
    TAG_NUMBERS,
    Columns,
    Known,
    basic_clues,
    box_clues,
    own_clues,
    repetitions,
    titles_of,
)
from newsbot.extraction.forest import shipped
from newsbot.extraction.pieces import Piece, cut
from newsbot.extraction.surroundings import surrounding_clues

_KINDS: dict[str, Kind] = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "li": "item", "dt": "item", "dd": "item", "td": "cell", "th": "cell",
}  # fmt: skip
_HEADINGS = tuple(TAG_NUMBERS[name] for name in ("h1", "h2", "h3", "h4", "blockquote"))
_NEVER = -9.0
_REPEATED = 40
"""A piece so long that comes again is another copy of the text (for phones, for print)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Pieces of a page and how likely each belongs to the article, in log odds."""

    pieces: list[Piece]
    scores: NDArray[np.float32]

    def blocks(self) -> list[Block]:
        """Return what belongs to the article, each text once."""
        found: list[Block] = []
        seen: set[str] = set()
        for piece, score in zip(self.pieces, self.scores, strict=True):
            text = piece.text
            if score > 0 and not (len(text) >= _REPEATED and text in seen):
                seen.add(text)
                found.append(Block(_KINDS.get(piece.box.tag, "paragraph"), text))
        return found

    def without_foreign(self, blocks: Iterable[Block], least: float) -> list[Block]:
        """Return ``blocks`` (of another extractor) without those that are judged below ``least``."""
        best: dict[str, float] = {}
        for piece, score in zip(self.pieces, self.scores, strict=True):
            best[piece.text] = max(float(score), best.get(piece.text, _NEVER))
        return [block for block in blocks if best.get(block.text, 0.0) > least]


def judge(tree: HtmlElement, known: Known, extracted: str) -> Judged:
    """Judge the pieces of a page; ``extracted`` is the text by another extractor, empty if it found none."""
    pieces = cut(tree)
    if not pieces:
        return Judged([], np.zeros(0, np.float32))
    columns, is_open = clues(pieces, known, extracted)
    scores = np.full(len(pieces), _NEVER, np.float32)
    if is_open.any():
        scores[is_open] = shipped().scores(columns)
    return Judged(pieces, scores)


def clues(pieces: list[Piece], known: Known, extracted: str) -> tuple[Columns, NDArray[np.bool_]]:
    """Return the numbers that the learned trees look at, for the pieces that the second value marks."""
    basic = basic_clues(pieces)
    basic |= repetitions(pieces)
    basic["title"] = titles_of(pieces, known)
    every = basic | surrounding_clues(pieces, basic, extracted)
    is_open = candidates(every)
    chosen = [piece for piece, wanted in zip(pieces, is_open, strict=True) if wanted]
    columns = {name: values[is_open] for name, values in every.items()}
    if chosen:
        columns |= own_clues(chosen, known) | box_clues(chosen)
    return columns, is_open


def candidates(columns: Columns) -> NDArray[np.bool_]:
    """True for pieces that need judgement: not for short links, nor for labels far from any prose."""
    links = (columns["linked"] > 0.9) & (columns["length"] < 80)
    labels = (columns["length"] < 25) & (columns["group2_most"] < 0.02)
    result: NDArray[np.bool_] = ~links & ~(labels & ~np.isin(columns["tag"], _HEADINGS))
    return result
