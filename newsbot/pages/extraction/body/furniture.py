"""Leaves out pieces and lines that are not part of the article, by their place or by their words.

Pieces are left out by their place: these are readers' comments below a heading, the motto of a blog, captions
of a gallery, boxes in a side column and notices about cookies.

Lines between the paragraphs of an article are left out by their words. A label is a short line such as
"Advertisement". An appeal asks the reader to do something, such as to subscribe. The words are in
``newsbot/pages/extraction/languages``.

Finds the tables and lists that stand between the paragraphs of an article.

The judge looks at single pieces. A cell of a table, or an item that is a link, looks like a piece of a menu.
So a table or list counts as a whole if it follows a paragraph of the article in the same box.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from lxml.html import HtmlElement

from newsbot.pages.extraction.body.features import Marks, View
from newsbot.pages.extraction.body.pieces import IS_NOTE, REGIONS, SUBJECTS, Boxes, Pieces
from newsbot.pages.extraction.fields.authors import clean_authors
from newsbot.pages.extraction.fields.moments import date_without_year, find_date, is_ago
from newsbot.pages.extraction.page import Page
from newsbot.pages.extraction.visible import Block, text_of, xpath
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import COMMENTS_HEADING, key, size

# --- tables
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


def table_rows(view: View, taken: Marks) -> dict[int, list[int]]:
    """Return the rows of the tables of the article: place of the first piece -> places of all pieces.

    ``taken`` marks the pieces that the judge takes.
    """
    found: dict[int, list[int]] = {}
    for table in _tables(view):
        if _is_data(table, view) and _follows_text(table.box, table.places(), view, taken):
            found |= {row[0]: row for row in table.rows.values()}
    return found


def list_items(view: View, taken: Marks) -> Marks:
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


# --- furniture
_LONGEST_HEADING = 60
_COUNTER = re.compile(r"\d{1,3}\s?(?:/|of|von|de|из|sur)\s?\d{1,3}\b")
"""Matches the number of a picture in a gallery: "3/43"."""
_LEAST_PICTURES = 3
"""Minimum number of captions of a gallery."""
_LONGEST_CAPTION = 300
_PROSE = 60
"""Minimum length of a piece that is prose."""
_LEAST_LEFT = 0.25
"""Minimum share of the prose that is left. Some sites name the box of the article after a side column."""
_LONGEST_MOTTO = 300
_LONGEST_NOTES = 1500
"""Maximum length of all notes on people. Some sites show their articles in boxes with such names."""
_SIDEBAR = list(SUBJECTS).index("sidebar")
_NAV = 1 << REGIONS.index("nav")
_OUTSIDE = sum(1 << REGIONS.index(name) for name in ("nav", "footer", "form"))
_PARTS = re.compile(r"\s*[|–—:»]\s*|\s-\s")
_FAR = 3
"""Minimum number of steps from a headline up to the box that it shares with the motto of the blog."""


def without_furniture(view: View, chosen: Marks) -> Marks:
    """Return ``chosen`` without these pieces. A group of pieces is kept if hardly any prose would be left."""
    chosen = chosen & ~_after_comments(view, chosen)
    least = _LEAST_LEFT * view.prose[chosen].sum()
    for marks in (_sidebars(view), _motto(view, chosen), _notes(view), _captions(view)):
        kept: Marks = chosen & ~marks
        if view.prose[kept].sum() > least:
            chosen = kept
    return chosen


def _after_comments(view: View, chosen: Marks) -> Marks:
    """True for all pieces from a heading of comments that follows prose of the article."""
    first = int(np.argmax(chosen & (view.prose > 0)))  # at least this piece stays
    headings = np.flatnonzero(view.headings & (view.length <= _LONGEST_HEADING)).tolist()
    pattern = compiled(COMMENTS_HEADING)
    start = next((at for at in headings if at > first and pattern.match(view.pieces.texts[at])), view.count)
    return np.arange(view.count) >= start


def without_captions(pieces: Pieces) -> Pieces:
    """Return the pieces that are not in a gallery in which each picture has a number and a caption.

    All pieces are returned if there is no other prose.
    """
    parents = pieces.tree.parents
    items = {parents[box] for text, box in zip(pieces.texts, pieces.boxes, strict=True) if _is_counter(text)}
    of = Counter(parents[item] for item in items)
    galleries = {item for item in items if of[parents[item]] >= _LEAST_PICTURES}
    if not galleries:
        return pieces
    kept = [
        place
        for place, box in enumerate(pieces.boxes)
        if box not in galleries and parents[box] not in galleries
    ]
    if not any(len(pieces.texts[place]) >= _PROSE for place in kept):
        return pieces
    found = Pieces(alts=pieces.alts, tree=pieces.tree)
    for name in ("texts", "boxes", "linked", "strong", "links", "broken", "pictures"):
        setattr(found, name, [getattr(pieces, name)[place] for place in kept])
    return found


def _is_counter(text: str) -> bool:
    return len(text) <= 12 and _COUNTER.fullmatch(text) is not None


def _sidebars(view: View) -> Marks:
    """True for the pieces in side columns and menus that do not contain the headline."""
    marks: Marks = (view.subjects[view.box, _SIDEBAR] > 0) | _within(view, _NAV)
    return marks


def outside(view: View) -> Marks:
    """True for the pieces in footers, menus and forms that do not contain the headline."""
    return _within(view, _OUTSIDE)


def _within(view: View, bits: int) -> Marks:
    regions = np.array(view.pieces.tree.regions)
    marks: Marks = (regions[view.box] & ~regions[view.common[view.box]] & bits) > 0
    return marks


def _notes(view: View) -> Marks:
    """True for the pieces about the author and in notes on names, outside of the box of the headline."""
    marks = _within(view, IS_NOTE)
    return marks if view.length[marks].sum() <= _LONGEST_NOTES else np.zeros(view.count, np.bool_)


def _captions(view: View) -> Marks:
    """True for short pieces in boxes of a kind in which each piece follows a picture of its own."""
    plain = (view.length <= _LONGEST_CAPTION) & ~view.headings
    seen = np.cumsum(view.pieces.pictures)
    # For each piece, the number of pictures that precede the piece before it that has the same kind.
    order = np.argsort(view.kind, kind="stable")
    earlier = np.where(np.diff(view.kind[order], prepend=-1) > 0, 0, np.roll(seen[order], 1))
    is_caption = np.zeros(view.count, np.bool_)
    is_caption[order] = plain[order] & (seen[order] > earlier)
    number, captions = np.bincount(view.kind), np.bincount(view.kind, is_caption)
    marks: Marks = ((number == captions) & (number >= _LEAST_PICTURES))[view.kind]
    return marks


def _motto(view: View, chosen: Marks) -> Marks:
    """True for the pieces between the name of a blog and the headline, if the title of the page has both."""
    marks = np.zeros(view.count, np.bool_)
    parts = {key(part) for part in _PARTS.split(view.known.title_tag) if part}
    headings = np.flatnonzero(view.headings).tolist()
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


MAX_SENTENCES = 20
"""Maximum number of elements that name cookies and are checked."""
_LONGEST_NOTICE = 600
"""Maximum length of a notice about cookies, in letters."""
_COOKIE = re.compile("[Cc]ookie|COOKIE|クッキー")
_NAMING = xpath("//body//*[text()[contains(., 'ookie') or contains(., 'OOKIE') or contains(., 'クッキー')]]")
_BUTTON = xpath("descendant::*[self::button or self::input or (self::a and starts-with(@href, '#'))]")
_NOT_A_NOTICE = frozenset({"html", "body", "main", "article"})


def names_cookies(text: str) -> bool:
    """True for a text with the word "cookie"."""
    return _COOKIE.search(text) is not None


def cookie_notices(page: Page) -> frozenset[HtmlElement]:
    """Return the boxes of notices about cookies.

    Such a box names cookies, is short, has a button, and is not in the article. The result is empty if the
    headline has words about consent too, as that of news about cookies has.
    """
    if compiled("%(consent)s").search(f"{page.title_tag} {' '.join(page.headings[:2])}"):
        return frozenset()
    found = (_notice(page, element) for element in _NAMING(page.tree)[:MAX_SENTENCES])
    return frozenset(box for box in found if box is not None)


def _notice(page: Page, element: HtmlElement) -> HtmlElement | None:
    """Return the largest short box around an element if it has a button, else None."""
    if any(article in page.around_headline for article in element.iterancestors("article")):
        return None
    box = None
    for outer in islice(element.iterancestors(), 10):
        if outer.tag in _NOT_A_NOTICE or outer in page.around_headline:
            break
        if size(text_of(outer, 2 * _LONGEST_NOTICE)) > _LONGEST_NOTICE:
            break
        box = outer
    return box if box is not None and _BUTTON(box) else None


MAX_LABEL = 40
"""Maximum length of a label before a link to another page ("Read also:")."""

_READ_ALSO = r"^\W{0,3}%(read_also)s"
_LABEL = r"^\W*(?:%(labels)s|[_*-]{2,})\W*$"
_APPEAL = r"^\W{0,3}%(appeals)s"
_ARROW = re.compile(r"(?:>>|»»)\s*$")
_CREDIT = r"^\W{0,2}%(credits)s\s*(?:[:：©|/]|%(by)s\s(?-i:[A-Z][\w.]+\s[A-Z]))"
"""Matches a picture credit: a word such as "photo", and after it a sign or a name.

"Photos by satellites" is not a credit but the start of a sentence.
"""
_BY = r"^%(bylines)s\s"
_MAX_APPEAL = 320
"""Maximum length of an appeal, in characters. Longer lines are never removed."""
_MAX_CREDIT = 160
"""Maximum length of a picture credit, in characters."""
_ENDS = re.compile(r"[.!?…。»”\"')]\s*$")


def tidy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without links to other articles, labels, appeals to readers and picture credits."""
    return [block for block in blocks if not is_foreign(block.text)]


@lru_cache(maxsize=1024)
def is_foreign(text: str) -> bool:
    """True for a line whose words show that it is not part of an article.

    Results are cached, because different versions of an article have many lines in common.
    """
    if len(text) > _MAX_APPEAL:
        return False
    if compiled(_APPEAL).match(text) or _ARROW.search(text):
        return True
    if len(text) <= MAX_LABEL and compiled(_LABEL).match(text):
        return True
    # "Read also the small print, he told them." is a sentence: it has no colon and ends with a full stop.
    if compiled(_READ_ALSO).match(text) and (":" in text[:MAX_LABEL] or not text.endswith(".")):
        return True
    return len(text) <= _MAX_CREDIT and compiled(_CREDIT).match(text) is not None


def trim_edges(blocks: list[Block], title: str, authors: Collection[str]) -> list[Block]:
    """Return ``blocks`` without the headline, names and date at the start and without names at the end.

    If no other blocks are left, all blocks are returned.
    """
    names = {key(author) for author in authors}
    headline = key(title)
    kept = [
        block
        for index, block in enumerate(blocks)
        # Headline, byline and date are in the first four lines. Further down, a short line belongs to the
        # text.
        if not (
            (index < 4 and _is_head(block.text, headline, names))
            or (index >= len(blocks) - 2 and _is_byline(block.text, names))
        )
    ]
    return kept or blocks


def _is_head(text: str, headline: str, names: set[str]) -> bool:
    """True for a line that is the headline, names of authors, or a date."""
    words = key(text)
    if not words or (
        headline and (words == headline or (words.endswith(headline) and len(words) < len(headline) + 50))
    ):
        return True
    if _is_byline(text, names):
        return True
    if len(text) > 45 or _ENDS.search(text):
        return False
    return find_date(text) is not None or date_without_year(text) is not None or is_ago(text)


def _is_byline(text: str, names: set[str]) -> bool:
    """True for a line of names of authors, possibly with roles and places.

    After "by", it may also have a name that is not an author: "By Ann Lee, Harbour News".
    """
    if not names or len(text) > 80:
        return False
    words = key(text)
    if words in names or compiled(_BY).sub("", words) in names:
        return True
    named = set() if _ENDS.search(text) else {key(name) for name in clean_authors([text])}
    return bool(named & names) and (named <= names or compiled(_BY).match(words) is not None)
