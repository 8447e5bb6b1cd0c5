"""What opens an article by the page's own word: the lead that its head states too, and its key points.

Annotators take these for a part of the text, or leave it to the extractor, or leave them out: trees that
learn from all of them take one lead and not the next. Here each is a part, on every page.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.pieces import Box, Piece
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
_PARAGRAPHS = 3
"""A box with so many sure paragraphs, or with the headline, holds the article: its name speaks of no list."""
_CAPTIONS = frozenset({"caption", "captions", "figcaption", "credit", "credits"})
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
    sure = (scores > _SURE) | found
    for index in _between(pieces, titles, sure):
        if described[index] and not titles[index] and not _is_caption(pieces[index].box):
            result[index] = _is_line(pieces[index], _LEAST_LEAD)
    points = [
        index
        for index, piece in enumerate(pieces)
        if piece.box.tag == "li" and _is_line(piece, _LEAST_POINT) and _naming(piece.box) is not None
    ]
    if points:
        whole = _holding_article(pieces, sure)
        result[[index for index in points if _naming(pieces[index].box) not in whole]] = True
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


def _is_caption(box: Box) -> bool:
    """True for what is named as the words below a picture: many describe their page by these."""
    return any(not _CAPTIONS.isdisjoint(around.words) for around in (box, box.above(1)))


def _naming(box: Box) -> Box | None:
    """The innermost box around an item that is named after key points."""
    around: Box | None = box
    for _ in range(_AROUND):
        if around is None or _names_points(around.words):
            return around
        around = around.parent
    return None


def _holding_article(pieces: list[Piece], sure: Marks) -> set[Box]:
    """The boxes that hold the headline or several paragraphs."""
    held: Counter[Box] = Counter()
    for piece, is_sure in zip(pieces, sure, strict=True):
        is_headline = piece.box.tag == "h1"
        if is_headline or (is_sure and piece.box.tag != "li" and size(piece.text) >= _LEAST_PARAGRAPH):
            around: Box | None = piece.box
            while around is not None:
                held[around] += _PARAGRAPHS if is_headline else 1
                around = around.parent
    return {box for box, number in held.items() if number >= _PARAGRAPHS}


@lru_cache(maxsize=8192)
def _names_points(words: tuple[str, ...]) -> bool:
    return _POINTS.search(" ".join(words)) is not None
