"""Finds the opening of an article: its lead (the summary above the text) and its key points.

The lead is recognised because the head of the page states it as description. The people who annotated the
training pages disagree on leads: some count them as text, and some do not. Trees that learned from all of
them therefore accept one lead and reject another. This module accepts leads and key points on every page. The
score of a piece of text is the log odds that it belongs to the article (:mod:`learned`).
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
"""Minimum length of a lead, in letters."""
_LEAST_POINT = 30
"""Minimum length of a key point, in letters."""
_LEAST_PARAGRAPH = 80
"""Minimum length of a paragraph, in letters."""
_LINKED = 0.3
"""Minimum share of letters in links with which a line counts as a link to another page."""
_SURE = 1.0
"""Score (log odds) above which a piece is sure, which means that it certainly belongs to the text."""
_AROUND = 6
"""Number of boxes around a key point whose names are checked."""
_PARAGRAPHS = 3
"""Minimum number of sure paragraphs in a box that contains the article and not only key points."""
_CAPTIONS = frozenset({"caption", "captions", "figcaption", "credit", "credits"})
_POINTS = re.compile(
    r"\bkey ?(?:points?|takeaways?|facts?)\b|\btakeaways\b|\bsummary (?:list|points|bullets)\b"
)
_ELSEWHERE = frozenset({"aside", "nav", "footer", "figure", "figcaption", "form", "table", "hidden"})

Marks = NDArray[np.bool_]


def openings(
    pieces: list[Piece], scores: NDArray[np.float32], described: Marks, titles: Marks, found: Marks
) -> Marks:
    """Return an array that marks the stated lead and the key points.

    ``scores`` are the log odds that a piece is part of the text. ``described`` marks the pieces in the
    description of the head, ``titles`` the headline, and ``found`` the pieces that another extractor took. A
    lead is between the headline and the first sure paragraph, which has a high score or was taken. If the
    lead itself is this paragraph, it is not marked, because it belongs to the text already.
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
    # A box around the whole article may also have a name like "summary list". Its items are not key points.
    if points:
        whole = _holding_article(pieces, sure)
        result[[index for index in points if _naming(pieces[index].box) not in whole]] = True
    return result


def _between(pieces: list[Piece], titles: Marks, sure: Marks) -> range:
    """Return the indices between the headline and the text. The result is empty if either is missing.

    Of several headlines the last one before the text counts, because the name of the site above the headline
    may have the markup of a headline.
    """
    heads = [place for place, piece in enumerate(pieces) if piece.box.tag == "h1" or titles[place]]
    # A sure line that is short or above the headline is not the start of the text.
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
    """True for a box that is named like a caption.

    On many pages the description in the head repeats a caption and not a lead.
    """
    return any(not _CAPTIONS.isdisjoint(around.words) for around in (box, box.above(1)))


def _naming(box: Box) -> Box | None:
    """Return the innermost box around an item whose class or id mentions key points, or None."""
    around: Box | None = box
    for _ in range(_AROUND):
        if around is None or _names_points(around.words):
            return around
        around = around.parent
    return None


def _holding_article(pieces: list[Piece], sure: Marks) -> set[Box]:
    """Return the boxes that contain the headline or several paragraphs."""
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
