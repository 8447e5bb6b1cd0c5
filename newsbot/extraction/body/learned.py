"""Finds the main text by decision trees, which decide for each piece of the page if it is part of the text.

A piece is a run of text between line breaks (:mod:`pieces`). Its features are computed in
:mod:`word_features`, :mod:`group_features` and :mod:`context_features`, and the trees are in :mod:`forest`.
The score of a piece is the log odds that it belongs to the article. An island is a
group of pieces with a score above 0 that are near each other. The other extractor is trafilatura
(:mod:`extractor`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray

from newsbot.extraction.blocks import Block, Kind, join
from newsbot.extraction.body.context_features import company
from newsbot.extraction.body.forest import shipped
from newsbot.extraction.body.group_features import surrounding_clues
from newsbot.extraction.body.openings import openings
from newsbot.extraction.body.pieces import Piece, cut
from newsbot.extraction.body.word_features import (
    TAG_NUMBERS,
    Columns,
    Known,
    basic_clues,
    box_clues,
    own_clues,
    repetitions,
    said_in,
    titles_of,
)
from newsbot.extraction.strings import words

GAP = 12
"""Minimum number of pieces with a score of 0 or less between two islands."""
WEAK = 0.5
"""An island is weak if its mean score is below this share of the main island's mean score."""
NONE = -1.5
"""The score (log odds) to which the pieces of a weak island are set."""


def islands(scores: NDArray[np.float32]) -> list[NDArray[np.intp]]:
    """Return the indices of the pieces with a score above 0, one array per island.

    Two pieces are in different islands if at least :data:`GAP` other pieces are between them.
    """
    taken = np.flatnonzero(scores > 0)
    return np.split(taken, np.flatnonzero(np.diff(taken) > GAP) + 1)


def without_weak_islands(
    scores: NDArray[np.float32], lengths: NDArray[np.float32], found: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the scores of the pieces of a page. The scores of pieces in weak islands are lowered.

    ``lengths`` has the number of letters of each piece. ``found`` marks the pieces that another extractor
    took. An island is not changed if that extractor took at least half of it.

    Legal notes, rules for comments, and another article further down look like prose, so they get scores
    above 0. They are recognised because they are far from the main island and have much lower scores. The
    main island is the one with the greatest sum of score times letters.
    """
    parts = islands(scores)
    if len(parts) < 2:
        return scores
    worths = [float((scores[island] * lengths[island]).sum()) for island in parts]
    means = [
        worth / (float(lengths[island].sum()) or 1.0) for worth, island in zip(worths, parts, strict=True)
    ]
    main = int(np.argmax(worths))
    result = scores.copy()
    for mean, island in zip(means, parts, strict=True):
        taken_too = float(lengths[island][found[island]].sum())
        if mean < WEAK * means[main] and taken_too < 0.5 * float(lengths[island].sum()):
            result[island] = NONE
    return result


_KINDS: dict[str, Kind] = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "li": "item", "dt": "item", "dd": "item", "td": "cell", "th": "cell",
}  # fmt: skip
_HEADINGS = tuple(TAG_NUMBERS[name] for name in ("h1", "h2", "h3", "h4", "blockquote"))
STATED = 1.6
"""Minimum score of pieces that the page itself marks as its lead or its key points."""
_NEVER = -9.0
"""The score of pieces that the trees do not judge."""
_SAME_START = 40
"""Number of letters at the start of two texts that are compared to find out if they are the same."""
_COMPARED = 100_000
"""Maximum number of letters of a text that are compared with another text."""
_LEAST_COPY = 1000
"""Minimum length of a piece that is checked for being a copy of the whole text."""
_MOST_COPIES = 5
"""Maximum number of pieces, the longest ones, that are checked for being a copy of the whole text."""
_MOST_STARTS = 500
"""Maximum number of pieces whose starts are searched in a possible copy."""
_FEW = 2
"""A copy of the whole text contains the starts of more pieces than this."""
_MOSTLY = 0.5
"""Share of letters in links from which on a missing piece is not added."""
REPEATED = 40
"""Minimum length of a piece whose repetition shows that the page contains its text twice."""


_ADDRESS = re.compile(r"https?://\S{1,500}")


@dataclass(frozen=True, slots=True)
class Judged:
    """Pieces of a page and their log odds of belonging to the article."""

    pieces: list[Piece]
    scores: NDArray[np.float32]
    copies: frozenset[str] = frozenset()
    """Texts of the pieces that :func:`without_copies` removed."""

    def blocks(self) -> list[Block]:
        """Return the blocks of the pieces with a score above 0. A long text is returned only once."""
        found: list[Block] = []
        seen: set[str] = set()
        for piece, score in zip(self.pieces, self.scores, strict=True):
            if score > 0 and not (len(piece.text) >= REPEATED and piece.text in seen):
                seen.add(piece.text)
                found.append(_block(piece))
        return found

    def without_foreign(self, blocks: Iterable[Block], least: float) -> list[Block]:
        """Return the ``blocks`` of another extractor whose score is above ``least``.

        A block that is not a piece has the score 0. A line that is only a URL has a low score like any link,
        but it is kept if it stands between lines of the article.
        """
        # Several pieces may have the same text, for example in the menu and in the article. The best score
        # counts.
        best = dict.fromkeys(self.copies, _NEVER)
        for piece, score in zip(self.pieces, self.scores, strict=True):
            best[piece.text] = max(float(score), best.get(piece.text, _NEVER))
        blocks = list(blocks)
        scores = [best.get(block.text, 0.0) for block in blocks]
        return [
            block
            for block, score, inside in zip(blocks, scores, _inside(scores), strict=True)
            if score > least or (inside and _ADDRESS.fullmatch(block.text))
        ]

    def with_missing(self, blocks: list[Block], least: float) -> list[Block]:
        """Return the ``blocks`` of another extractor, and add pieces with a high score that it left out.

        Pieces with a score above ``least`` are added, each after the last block that precedes it in the page.
        Three kinds of pieces are never added: pieces of which ``blocks`` has most word pairs already, links
        that lead elsewhere, and islands below all ``blocks`` (comments, notes, the next article).
        """
        places: dict[str, int] = {}
        for index, block in enumerate(blocks):
            places.setdefault(block.text[:_SAME_START], index)
        have: Counter[tuple[str, str]] | None = None
        after: dict[int, list[Block]] = {}
        seen: set[str] = set()
        last = -1
        end = self._end_of(places)
        for index, (piece, score) in enumerate(zip(self.pieces, self.scores, strict=True)):
            # Pieces and blocks are in page order, so a missing piece belongs after the last block found.
            at = places.get(piece.text[:_SAME_START], -1)
            if at >= 0:
                last = max(last, at)
            elif index <= end and score > least and piece.linked < _MOSTLY and piece.text not in seen:
                seen.add(piece.text)
                # This is computed on first use, because most texts lack nothing.
                have = word_pairs(join(blocks)) if have is None else have
                own = word_pairs(piece.text)
                if (own & have).total() < 0.5 * max(1, own.total()):
                    after.setdefault(last, []).append(_block(piece))
                else:
                    # The other extractor has joined this piece with others in one block.
                    start = piece.text[:_SAME_START]
                    last = max(last, next((i for i, block in enumerate(blocks) if start in block.text), -1))
        if not after:
            return blocks
        whole = list(after.get(-1, ()))
        for index, block in enumerate(blocks):
            whole += [block, *after.get(index, ())]
        return whole

    def _end_of(self, starts: Container[str]) -> int:
        """Return the last index of the last island with a piece that begins like one of ``starts``, or -1."""
        for island in reversed(islands(self.scores)):
            if any(self.pieces[place].text[:_SAME_START] in starts for place in island):
                return int(island[-1])
        return -1


def _inside(scores: list[float]) -> list[bool]:
    """Return True for each line whose nearest judged lines before and after it belong to the article."""
    before, after = _last_judged(scores), _last_judged(scores[::-1])[::-1]
    return [min(pair) > 0 for pair in zip(before, after, strict=True)]


def _last_judged(scores: list[float]) -> list[float]:
    """Return for each line the score of the nearest line before it that the trees judged, or _NEVER."""
    found: list[float] = []
    last = _NEVER
    for score in scores:
        found.append(last)
        last = score if score > _NEVER else last
    return found


def word_pairs(text: str) -> Counter[tuple[str, str]]:
    """Return the pairs of neighbouring words in ``text`` with their numbers, to compare texts by them."""
    return Counter(pairwise(words(text[:_COMPARED])))


def _block(piece: Piece) -> Block:
    return Block(_KINDS.get(piece.box.tag, "paragraph"), piece.text)


def judge(tree: HtmlElement, known: Known, extracted: str) -> Judged:
    """Return the pieces of a page with their scores.

    ``known`` is what the page states about its article outside of the text. ``extracted`` is the text of
    another extractor. It is empty if that extractor found none.
    """
    pieces, copies = without_copies(cut(tree))
    if not pieces:
        return Judged([], np.zeros(0, np.float32))
    columns, is_open = clues(pieces, known, extracted)
    scores = np.full(len(pieces), _NEVER, np.float32)
    if is_open.any():
        scores[is_open] = shipped().scores(columns)
        marks = np.zeros((3, len(pieces)), np.bool_)
        marks[:, is_open] = [columns[name] > 0 for name in ("found", "description", "title")]
        found, described, titles = marks
        lengths = np.array([len(piece.text) for piece in pieces], np.float32)
        scores = without_weak_islands(scores, lengths, found)
        # This comes last, because a lead is before the first paragraph with a high final score.
        stated = openings(pieces, scores, described, titles, found)
        scores[stated] = np.maximum(scores[stated], STATED)
    return Judged(pieces, scores, copies)


def without_copies(pieces: list[Piece]) -> tuple[list[Piece], frozenset[str]]:
    """Return the pieces without copies of the whole text, and the texts of these copies.

    Some pages contain the whole text a second time in one long piece, for programs or behind a paywall.
    """
    starts = [piece.text[:_SAME_START] for piece in pieces if len(piece.text) >= REPEATED][:_MOST_STARTS]
    copies = {
        piece.text
        for piece in sorted(pieces, key=lambda piece: -len(piece.text))[:_MOST_COPIES]
        if len(piece.text) >= _LEAST_COPY and _is_copy(piece.text, pieces, starts)
    }
    if not copies:
        return pieces, frozenset()
    return [piece for piece in pieces if piece.text not in copies], frozenset(copies)


def _is_copy(text: str, pieces: list[Piece], starts: list[str]) -> bool:
    """True if shorter pieces make up half of ``text``."""
    looked_at = text[:_COMPARED]
    # Only the starts of pieces are searched, because searching all pieces in all texts would be too slow.
    inside = {start for start in starts if start in looked_at}
    if len(inside) <= _FEW:
        return False
    letters = sum(
        len(line)
        for line in {piece.text for piece in pieces}
        if line[:_SAME_START] in inside and REPEATED <= len(line) < len(text)
    )
    return 2 * letters >= len(text)


def clues(pieces: list[Piece], known: Known, extracted: str) -> tuple[Columns, NDArray[np.bool_]]:
    """Return the features for the trees by name, and an array that marks the pieces that the trees judge.

    Each feature has one value for each marked piece.
    """
    basic = basic_clues(pieces)
    basic |= repetitions(pieces)
    basic["title"] = titles_of(pieces, known)
    every = basic | surrounding_clues(pieces, basic, extracted)
    is_open = candidates(every)
    # The other features are slower to compute, so they are computed only for pieces that are judged.
    chosen = [piece for piece, wanted in zip(pieces, is_open, strict=True) if wanted]
    places = np.flatnonzero(is_open)
    columns = {name: values.take(places) for name, values in every.items()}
    if chosen:
        said = said_in(chosen)
        columns |= own_clues(chosen, known, said) | box_clues(chosen)
        columns |= company(chosen, said, known, extracted, columns["found"])
    return columns, is_open


def candidates(columns: Columns) -> NDArray[np.bool_]:
    """Return an array that marks the pieces that the trees judge.

    These are all pieces except short links and labels that are far from prose.
    """
    # Most pieces of a page are entries of menus. Without them, the trees have much less to do.
    links = (columns["linked"] > 0.9) & (columns["length"] < 80)
    labels = (columns["length"] < 25) & (columns["group2_most"] < 0.02)
    result: NDArray[np.bool_] = ~links & ~(labels & ~np.isin(columns["tag"], _HEADINGS))
    return result
