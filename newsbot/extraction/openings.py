"""What opens an article by the page's own word: the lead that its head states too, and its key points.

Annotators take these for a part of the text, or leave it to the extractor, or leave them out: trees that
learn from all of them take one lead and not the next. Here each is a part, on every page.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.pieces import Box, Piece
from newsbot.extraction.strings import size

_LEAST_LEAD = 40
_LEAST_POINT = 30
_LEAST_PARAGRAPH = 80
"""Letters."""
_LINKED = 0.3
"""A line that is a link for more of its letters leads elsewhere."""
_SURE = 1.0
"""Log odds of the paragraph with which the text begins."""
_AROUND = 6
"""Boxes around a key point that may name it."""
_POINTS = re.compile(
    r"\bkey ?(?:points?|takeaways?|facts?)\b|\btakeaways\b|\bsummary (?:list|points|bullets)\b"
)
_ELSEWHERE = frozenset({"aside", "nav", "footer", "figure", "figcaption", "form", "table", "hidden"})

Marks = NDArray[np.bool_]


def openings(
    pieces: list[Piece], scores: NDArray[np.float32], described: Marks, titles: Marks, found: Marks
) -> Marks:
    """Say of each piece of a page whether it is the stated lead or a key point.

    ``scores`` are log odds of being a part of the text; ``described`` marks what the description in the head
    says, ``titles`` the headline, ``found`` what another extractor took. A lead stands between the headline
    and the first long line that is sure or taken: if it is such a line itself, it needs no help.
    """
    result = np.zeros(len(pieces), np.bool_)
    for index in _between(pieces, titles, (scores > _SURE) | found):
        if described[index] and not titles[index]:
            result[index] = _is_line(pieces[index], _LEAST_LEAD)
    for index, piece in enumerate(pieces):
        if piece.box.tag == "li" and _is_line(piece, _LEAST_POINT) and _are_points(piece.box):
            result[index] = True
    return result


def _between(pieces: list[Piece], titles: Marks, sure: Marks) -> range:
    """The places behind the headline and before the text, none where either is missing.

    A name of the site above the headline may be marked up like one.
    """
    heads = [place for place, piece in enumerate(pieces) if piece.box.tag == "h1" or titles[place]]
    for place in np.flatnonzero(sure):
        if heads and place > heads[0] and size(pieces[place].text) >= _LEAST_PARAGRAPH:
            return range(max(head for head in heads if head < place), int(place))
    return range(0)


def _is_line(piece: Piece, least: int) -> bool:
    return (
        size(piece.text) >= least
        and piece.linked < _LINKED
        and piece.box.tag != "h1"
        and _ELSEWHERE.isdisjoint(piece.box.regions)
    )


def _are_points(box: Box) -> bool:
    around: Box | None = box
    for _ in range(_AROUND):
        if around is None:
            return False
        if _names_points(around.words):
            return True
        around = around.parent
    return False


@lru_cache(maxsize=8192)
def _names_points(words: tuple[str, ...]) -> bool:
    return _POINTS.search(" ".join(words)) is not None
