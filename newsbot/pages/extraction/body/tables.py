"""Finds the tables and lists that stand between the paragraphs of an article.

The judge looks at single pieces. A cell of a table, or an item that is a link, looks like a piece of a menu.
So a table or list counts as a whole if it follows a paragraph of the article in the same box.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from newsbot.pages.extraction.body.features import Marks, View
from newsbot.pages.extraction.body.pieces import Boxes

MAX_WRAPPERS = 3
"""Maximum number of boxes between a table and the box of the paragraphs."""
_LONG_CELL = 200
"""Maximum number of letters of a cell. A longer cell is part of a layout."""
_LINKED = 0.8
"""Maximum share of links in a table."""
_LEAST_ROWS = 3
_LEAST_ITEMS = 8
"""Minimum number of items of a list that consists of links."""
_LEAST_PLAIN = 2
"""The same for a list without links and pictures, or if a sentence with a colon introduces the list."""
_SENTENCE = 40
"""Minimum length of such a sentence. "Read also:" is shorter."""
_FRAMES = ("aside", "nav", "footer", "form")


@dataclass(slots=True)
class _Table:
    box: int
    rows: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Box of the row -> places of its pieces."""
    cells: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Box of the row -> boxes of its cells."""
    is_layout: bool = False

    def places(self) -> list[int]:
        return [place for row in self.rows.values() for place in row]


def rows(view: View, taken: Marks) -> dict[int, list[int]]:
    """Return the rows of the tables of the article: place of the first piece -> places of all pieces.

    ``taken`` marks the pieces that the judge takes.
    """
    found: dict[int, list[int]] = {}
    for table in _tables(view):
        if _is_data(table, view) and _follows_text(table.box, table.places(), view, taken):
            found |= {row[0]: row for row in table.rows.values()}
    return found


def items(view: View, taken: Marks) -> Marks:
    """Return True for the items of lists that stand between two paragraphs of the article.

    A list with links or pictures needs many items, unless a sentence with a colon introduces it.
    """
    tree = view.pieces.tree
    found = np.zeros(view.count, np.bool_)
    item_of = _innermost(tree, ("li", "dt", "dd"))
    lists: dict[int, list[int]] = defaultdict(list)
    for place, box in enumerate(view.pieces.boxes):
        if item := item_of[box]:
            lists[tree.parents[item]].append(place)
    for box, places in lists.items():
        before = view.pieces.texts[places[0] - 1] if places[0] and taken[places[0] - 1] else ""
        is_plain = not view.linked[places].any() and not any(view.pieces.pictures[one] for one in places)
        is_introduced = len(before) >= _SENTENCE and before.endswith((":", "："))
        least = _LEAST_PLAIN if is_plain or is_introduced else _LEAST_ITEMS
        if len(places) >= least and tree.tags[box] in ("ul", "ol", "dl") and not taken[places].all():
            parent = tree.parents[box]
            after = [place for place in range(places[-1] + 1, view.count) if view.pieces.boxes[place] != box]
            is_between = _is_text_beside(view, taken, parent, after)
            if is_between and _follows_text(box, places, view, taken, wrappers=1):
                found[places] = True
    return found


def _tables(view: View) -> list[_Table]:
    tree = view.pieces.tree
    if "table" not in tree.tags:
        return []
    table_of, row_of = _innermost(tree, ("table",)), _innermost(tree, ("tr",))
    cell_of = _innermost(tree, ("td", "th"))
    tables: dict[int, _Table] = {}
    for place, box in enumerate(view.pieces.boxes):
        cell, row, table = cell_of[box], row_of[box], table_of[box]
        if table < row < cell and table:
            own = tables.setdefault(table, _Table(table))
            own.rows[row].append(place)
            own.cells[row].add(cell)
    for inner in list(tables):
        outer = table_of[tree.parents[inner]]
        while outer:
            tables.setdefault(outer, _Table(outer)).is_layout = True
            outer = table_of[tree.parents[outer]]
    return list(tables.values())


def _innermost(tree: Boxes, names: tuple[str, ...]) -> list[int]:
    """For each box, return the innermost box around it, or itself, with one of these names; 0 if none has."""
    found: list[int] = []
    for box, (tag, parent) in enumerate(zip(tree.tags, tree.parents, strict=True)):
        # A parent comes before its boxes. The root has no such name.
        found.append(box if tag in names else found[parent] if box else 0)
    return found


def _is_data(table: _Table, view: View) -> bool:
    count = sum(len(cells) > 1 for cells in table.cells.values())
    places = table.places()
    numbers = sum(any(map(str.isdigit, view.pieces.texts[place])) for place in places)
    # A table of two rows without numbers is a form or a box of contacts.
    if table.is_layout or count < _LEAST_ROWS - (numbers >= count):
        return False
    lengths = view.length[places]
    return bool(lengths.max() <= _LONG_CELL and view.linked[places].sum() <= _LINKED * lengths.sum())


def _follows_text(
    box: int, places: list[int], view: View, taken: Marks, *, wrappers: int = MAX_WRAPPERS
) -> bool:
    """True if a paragraph of the article precedes the box, beside it or beside one of its wrappers."""
    tree = view.pieces.tree
    before = list(range(places[0]))
    for _ in range(wrappers):
        parent = tree.parents[box]
        if not box or tree.tags[box] in _FRAMES:
            return False
        if _is_text_beside(view, taken, parent, before):
            return True
        # A wrapper contains at most a caption and a note besides the table.
        if any(_is_within(view, place, parent) for place in (places[0] - 2, places[-1] + 2)):
            return False
        box = parent
    return False


def _is_within(view: View, place: int, box: int) -> bool:
    if not 0 <= place < view.count:
        return False
    inner = view.pieces.boxes[place]
    while inner > box:  # a box comes after its parent
        inner = view.pieces.tree.parents[inner]
    return inner == box


def _is_text_beside(view: View, taken: Marks, parent: int, places: list[int]) -> bool:
    """True if one of the pieces is a taken paragraph directly in the box ``parent``."""
    if not places:
        return False
    boxes = view.box[places]
    beside = (boxes == parent) | (view.parent[boxes] == parent)
    return bool((beside & taken[places] & (view.prose[places] > 0)).any())
