"""Leaves out pieces that their place shows not to be part of the article.

These are readers' comments below a heading, the motto of a blog, numbered captions of a gallery, and boxes in
a side column.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from newsbot.extraction.body.features import Marks, View
from newsbot.extraction.body.judge import HEADINGS
from newsbot.extraction.body.pieces import SUBJECTS
from newsbot.extraction.strings import key
from newsbot.text.languages import compiled

_COMMENTS = r"^\W*(?:\d[\d.,]*\W*)?%(comments)s(?:\W*\d+)?\W*$"
"""Matches a heading such as "12 comments" or "Kommentare (3)"."""
_LONGEST_HEADING = 60
_COUNTER = re.compile(r"\d{1,3}\s?(?:/|of|von|de|из|sur)\s?\d{1,3}\b")
"""Matches the number of a picture in a gallery: "3/43"."""
_LEAST_PICTURES = 3
"""Minimum number of numbered captions of a gallery."""
_LEAST_LEFT, _LEAST_LETTERS = 0.25, 60
"""Minimum share of the prose, and minimum number of its letters, that are left.

Some sites name the box of the article after a side column.
"""
_LONGEST_MOTTO = 300
_SIDEBAR = list(SUBJECTS).index("sidebar")
_PARTS = re.compile(r"\s*[|–—:»]\s*|\s-\s")
_FAR = 3
"""Minimum number of steps from a headline up to the box that it shares with the motto of the blog."""


def without_furniture(view: View, chosen: Marks) -> Marks:
    """Return ``chosen`` without these pieces. A group of pieces is kept if hardly any prose would be left."""
    chosen = chosen & ~_after_comments(view, chosen)
    least = _LEAST_LEFT * view.prose[chosen].sum()
    for marks, needed in (
        (_captions(view), _LEAST_LETTERS),
        (_sidebars(view), least),
        (_motto(view, chosen), least),
    ):
        kept: Marks = chosen & ~marks
        if view.prose[kept].sum() > needed:
            chosen = kept
    return chosen


def _after_comments(view: View, chosen: Marks) -> Marks:
    """True for all pieces from a heading of comments that follows prose of the article."""
    first = int(np.argmax(chosen & (view.prose > 0)))  # at least this piece stays
    headings = np.flatnonzero(np.isin(view.tag, HEADINGS) & (view.length <= _LONGEST_HEADING)).tolist()
    pattern = compiled(_COMMENTS)
    start = next((at for at in headings if at > first and pattern.match(view.pieces.texts[at])), view.count)
    return np.arange(view.count) >= start


def _captions(view: View) -> Marks:
    """True for the pieces in items of a gallery, in which each picture has a number and a caption."""
    counters = [place for place, text in enumerate(view.pieces.texts) if _is_counter(text)]
    items = {int(view.parent[view.pieces.boxes[place]]) for place in counters}
    of = Counter(int(view.parent[item]) for item in items)
    galleries = [item for item in items if of[int(view.parent[item])] >= _LEAST_PICTURES]
    return np.isin(view.box, galleries) | np.isin(view.parent[view.box], galleries)


def _is_counter(text: str) -> bool:
    return len(text) <= 12 and _COUNTER.fullmatch(text) is not None


def _sidebars(view: View) -> Marks:
    marks: Marks = view.subjects[view.box, _SIDEBAR] > 0
    return marks


def _motto(view: View, chosen: Marks) -> Marks:
    """True for the pieces between the name of a blog and the headline, if the title of the page has both."""
    marks = np.zeros(view.count, np.bool_)
    parts = {key(part) for part in _PARTS.split(view.known.title_tag) if part}
    headings = np.flatnonzero(np.isin(view.tag, HEADINGS)).tolist()
    named = [place for place in headings if key(view.pieces.texts[place]) in parts]
    if len({key(view.pieces.texts[place]) for place in named}) < 2 or not chosen[named[-1] :].any():
        return marks
    tree, last = view.pieces.tree, named[-1]
    above = [view.pieces.boxes[last]]
    while above[-1]:
        above.append(tree.parents[above[-1]])
    near = above[:_FAR]
    for place in np.flatnonzero(chosen[named[0] : last]).tolist():
        at = place + named[0]
        box = view.pieces.boxes[at]
        while box and box not in near:
            box = tree.parents[box]
        marks[at] = box not in near
    return marks if view.length[marks].sum() <= _LONGEST_MOTTO else np.zeros(view.count, np.bool_)
