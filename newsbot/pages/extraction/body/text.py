"""Finds the text of an article: by the selectors of the site's rule, or from the pieces that the judge takes.

The judge decides by boosted trees which pieces of a page belong to its article. ``training/forest.py`` trains
the trees and writes them to ``forest.json``.

The text is compared with the text in the structured data. If the page has neither text, the data of its
scripts, its captions or its summary are used.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from importlib.resources import files
from itertools import islice, takewhile

import numpy as np
from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring
from numpy.typing import NDArray

from newsbot.pages.extraction.body.embedded import embedded_blocks, sentence_blocks, whole_blocks
from newsbot.pages.extraction.body.features import FAR, Columns, Known, Marks, View, columns_of, distance
from newsbot.pages.extraction.body.furniture import (
    cookie_notices,
    list_items,
    names_cookies,
    outside,
    table_rows,
    tidy,
    trim_edges,
    without_captions,
    without_furniture,
)
from newsbot.pages.extraction.body.pieces import Pieces, cut, render
from newsbot.pages.extraction.body.selectors import Selected
from newsbot.pages.extraction.fields import JSON_LD, RULE
from newsbot.pages.extraction.fields.authors import BY, author_candidates
from newsbot.pages.extraction.fields.details import form_of, is_gallery
from newsbot.pages.extraction.fields.moments import find_date
from newsbot.pages.extraction.page import Page, texts
from newsbot.pages.extraction.visible import KINDS, Block, Hidden, Kind, join, text_of
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import is_code, key, looks_like_code, size, squash

SCALE = 1000
"""Factor from log odds to scores. Scores are whole numbers, so their sums are the same on every machine."""
NEVER = -9 * SCALE
"""The score of pieces that are not judged (:attr:`View.is_open`)."""
UNSURE = -300
"""The score above which a piece belongs to the article. A limit of 0 gives the same F1, but less recall."""
UNLIKELY = -2500
"""The score above which some pieces between taken pieces belong to the article too (:func:`taken`)."""
LEAVES = 8
"""Maximum number of leaves of a tree, so that a set of leaves is one byte."""
# byte & -byte keeps only the lowest bit
_FIRST = np.array([(byte & -byte).bit_length() - 1 for byte in range(256)], np.int16)
"""The position of the lowest bit of each byte value."""
_MOST_ROWS = 500
"""Maximum number of rows that are scored at once."""
_MOST_OF_KIND = 0.7
"""If the judge takes at least this share of the prose in boxes of one kind, it takes the rest too."""
_BELOW = 3
"""Maximum number of pieces from a heading to the text below it."""


@dataclass(frozen=True)
class Forest:
    """Boosted trees that are evaluated with sets of leaves instead of paths.

    The leaves of a tree are numbered from left to right. A node compares a column, ``feature``, with a
    ``threshold``. A row with a greater value cannot reach the leaves on the left of the node. ``mask`` has
    the bits of all other leaves. The leaf of a row is the first leaf that no node of the tree excludes. Each
    tree has ``LEAVES - 1`` nodes; unused nodes exclude no leaf. ``value`` is the number that a leaf adds to
    the score.

    Source: Lucchese et al., QuickScorer: a fast algorithm to rank documents with additive ensembles of
    regression trees, SIGIR 2015.
    """

    names: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    mask: NDArray[np.uint8]
    value: NDArray[np.int32]

    def scores(self, columns: Columns) -> NDArray[np.int64]:
        """Return the score of each row, in log odds times :data:`SCALE`."""
        values = np.empty((len(self.names), len(columns[self.names[0]])), np.float32)
        for number, name in enumerate(self.names):
            values[number] = columns[name]
        # The rows are scored in parts, because each row temporarily takes about 12 kB.
        parts = [
            self._scores(values[:, first : first + _MOST_ROWS])
            for first in range(0, values.shape[1], _MOST_ROWS)
        ]
        return np.concatenate(parts)

    def _scores(self, values: NDArray[np.float32]) -> NDArray[np.int64]:
        firsts = np.arange(0, len(self.value), LEAVES)[:, np.newaxis]
        # one row per tree, one column per piece
        excluded = np.zeros((len(firsts), values.shape[1]), np.uint8)
        for node in range(LEAVES - 1):
            of_trees = slice(node, None, LEAVES - 1)
            greater = values.take(self.feature[of_trees], axis=0) > self.threshold[of_trees, np.newaxis]
            # A product with 0 or 1 is several times faster than np.where().
            excluded |= greater.view(np.uint8) * ~self.mask[of_trees, np.newaxis]
        leaves = firsts + _FIRST.take(~excluded)
        total: NDArray[np.int64] = self.value.take(leaves).sum(axis=0, dtype=np.int64)
        return total


def from_json(text: str) -> Forest:
    """Return the forest from the JSON that ``training/forest.py`` wrote."""
    data = json.loads(text)
    return Forest(
        names=tuple(data["names"]),
        feature=np.array(data["feature"], np.int32),
        threshold=np.array(data["threshold"], np.float32),
        mask=np.array(data["mask"], np.uint8),
        value=np.array(data["value"], np.int32),
    )


@cache
def shipped() -> Forest:
    """Return the trees of ``forest.json``. They are read once."""
    return from_json(
        files("newsbot.pages.extraction.body").joinpath("forest.json").read_text(encoding="utf-8")
    )


def taken(view: View) -> Marks:
    """Return True for the pieces that belong to the article.

    These are the pieces with a score above :data:`UNSURE`. Between them, a score above :data:`UNLIKELY` is
    enough for two sorts of pieces. The first sort is prose in boxes of one kind if most prose in these boxes
    is taken. This keeps blocks of prose whole. The second sort is headings just above taken pieces. Prose
    just above the headline, in the same box, is the lead.
    """
    scores = judge(view)
    marks: Marks = scores > UNSURE
    counts = np.cumsum(marks)
    between = (scores > UNLIKELY) & (counts > 0) & (counts < marks.sum())
    held = np.bincount(view.kind, np.where(marks, view.prose, 0))
    mostly = held >= _MOST_OF_KIND * np.bincount(view.kind, view.prose)
    block: Marks = marks | (between & (view.prose > 0) & mostly[view.kind])
    above = distance(np.flatnonzero(block), view.count, ahead=True) <= _BELOW
    headings: Marks = between & above & view.headings & ~view.titles
    return block | headings | (_leads(view) & (scores > UNLIKELY))


def _leads(view: View) -> Marks:
    """True for prose without links that stands just above the headline, in the same box."""
    marks = np.zeros(view.count, np.bool_)
    at = view.headline
    if at and view.prose[at - 1] and view.ends[at - 1] and not view.linked[at - 1]:
        marks[at - 1] = view.parent[view.box[at - 1]] == view.parent[view.box[at]]
    return marks


def judge(view: View) -> NDArray[np.int64]:
    """Return the score of each piece of a page: the log odds that it belongs to the article.

    The scores are computed once and stored in ``view.scores``.
    """
    if view.scores is None:
        scores = np.full(view.count, NEVER, np.int64)
        if view.count and view.is_open.any():
            scores[view.is_open] = shipped().scores(columns_of(view))
        view.scores = scores
    return view.scores


MAX_TEXT = 500_000
"""Maximum length of a text, in characters."""
LEARNED = "learned"
"""The method for a text that the judge took from the page."""
TEASER = "teaser"
"""The method for a text that is only the summary, because the text of the article is not in the page."""
_HARDLY_ANY = 100
"""Minimum length of a text, in letters. A shorter text counts as missing."""
_MOST_PICTURES = 500
"""Maximum number of pictures whose captions are read."""
_REPEATED = 40
"""Minimum number of letters of a line that is dropped if another box has it too (a copy for phones)."""
_MOST_HIDDEN = 3
"""Maximum amount of hidden text relative to the visible prose. If there is more, no text counts as hidden."""
_SURE = 3000
"""Score from which a piece certainly belongs to an article. Nearly all articles have one."""
_LEAST_HEADLINE = 10
"""Minimum number of letters of a headline that is recognised as a part of the page's title."""
_MUCH = 3000
"""Number of letters of prose that is hardly ever a box beside a short note."""
_MUCH_LESS = 1000
"""Difference of scores (1000 times the log odds) from which a piece is much less likely than another."""
_BESIDE = 12
"""Maximum number of characters outside the link in a line that is only a link to another page."""
_LEAST_LINK = 20
"""Minimum number of characters of such a link."""
# Boxes that have the same kind as the box around them: <blockquote><p> is a quote.
_INNER = frozenset({"p", "div", "span"})
# The shortest beginning of 20 to 160 characters that ends with a sign before a blank.
_SENTENCE = re.compile(r"^.{20,160}?[.!?…](?=\s|$)")
_CODE_BOXES = frozenset({"pre", "samp"})
_COMMENT = re.compile(r"schema\.org/(?:User)?Comments?\s*$", re.IGNORECASE)
_MARKUP = re.compile(r"</?(?:p|br|div|h[1-6]|li|ul|strong|em|a|span)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Body:
    """The blocks of a text and the method that found them."""

    blocks: tuple[Block, ...]
    method: str
    view: View | None = field(default=None, compare=False, repr=False)
    """The pieces of the page. None if a rule selected the text."""

    @property
    def text(self) -> str:
        """The text, one block per line."""
        return join(self.blocks)[:MAX_TEXT]

    def trimmed(self, title: str, authors: list[str]) -> Body:
        """Return the body without the headline, names and date at its start and without names at its end.

        If a rule selected the text, only a first line that repeats the title is removed.
        """
        blocks = list(self.blocks)
        if self.method == RULE:
            blocks = blocks[1:] if len(blocks) > 1 and key(blocks[0].text) == key(title) else blocks
        else:
            blocks = trim_edges(blocks, title, authors)
        return Body(tuple(blocks), self.method, self.view)

    def structure(self) -> dict[str, list[int]]:
        """Return the numbers (from 0) of lines of :attr:`text` by their kind, without plain paragraphs."""
        found: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            if block.kind != "paragraph":
                found.setdefault(block.kind, []).append(number)
        return found

    def first_sentence(self) -> str:
        """Return the first sentence of the text. The result is empty if there is no text.

        It can replace a missing headline.
        """
        text = next((block.text for block in self.blocks if len(block.text) >= 20), "")
        match = _SENTENCE.match(text)
        return match[0] if match else text[:100].rsplit(" ", 1)[0]


def find_body(page: Page, selected: Selected) -> Body:
    """Return the text of the page. The result has no blocks if there is no text.

    ``selected`` has the selectors of the site's rule. If they select text, the page is not judged.
    """
    blocks = selected.blocks() if selected.names("text") else []
    if blocks:
        return Body(tuple(blocks), RULE)

    stated = stated_blocks(page)
    view = view_of(page, stated, selected.removed)
    blocks = tidy(judged_blocks(view))
    # Notices are looked for only if the text names cookies. The judge refuses most of them.
    if any(names_cookies(block.text) for block in blocks) and (notices := cookie_notices(page)):
        view = view_of(page, stated, selected.removed | notices)
        blocks = tidy(judged_blocks(view))
    if stated and _is_better(stated, blocks):
        return Body(tuple(stated), JSON_LD, view)
    # Headings do not count, because a page whose scripts load the text may still contain the headline.
    if sum(size(block.text) for block in blocks if block.kind != "heading") < _HARDLY_ANY:
        return _carried(page, view) or Body(tuple(blocks), LEARNED, view)
    if whole := tidy(whole_blocks(page.tree, blocks)):
        return Body(tuple(whole), "embedded", view)
    return Body(tuple(blocks), LEARNED, view)


def view_of(page: Page, stated: list[Block], removed: frozenset[HtmlElement] = frozenset()) -> View:
    """Return the pieces of a page that are judged, without other articles and hidden text.

    ``stated`` is the text in the structured data. ``removed`` are the elements that a rule removes.
    """
    removed |= next_articles(page) | _comments(page)
    known, hidden = known_of(page, stated), Hidden(page.tree, page.marked)
    view = View(without_captions(cut(page.tree, removed, hidden)), known)
    # Some pages hide the whole article until their scripts have run.
    if sum(size(text_of(element, 2000)) for element in hidden.found) > _MOST_HIDDEN * view.all_prose:
        view = View(without_captions(cut(page.tree, removed)), known)
    return view


def judged_blocks(view: View) -> list[Block]:
    """Return the pieces that belong to the article.

    If the judge is sure of no piece, takes little, and takes nothing from the box of the headline, the text
    is what that box holds. If the judge takes hardly anything, the text is the prose of the densest box. So a
    short note below its headline, and a page with a single block of prose, have a text.
    """
    if not view.count:
        return []
    chosen = taken(view)
    is_sure = (judge(view) > _SURE).any() or int(view.prose[chosen].sum()) > _MUCH
    own = np.zeros_like(chosen) if is_sure else _below_headline(view)
    if own.any() and not (own & chosen).any():
        chosen = own
    elif int(view.length[chosen & ~view.headings].sum()) < _HARDLY_ANY:
        dense = view.in_densest & (view.prose > 0)
        chosen = dense if int(view.prose[dense].sum()) >= _HARDLY_ANY else chosen
    chosen = without_furniture(view, chosen)
    pieces = view.pieces
    found: list[Block] = []
    first: dict[str, int] = {}
    rows, items = table_rows(view, chosen), list_items(view, chosen)
    cells = {place for row in rows.values() for place in row}
    chosen = (chosen & ~_pointers(view)) | items
    chosen[list(rows)] = True
    for place in np.flatnonzero(chosen).tolist():
        if place in cells:
            if place in rows:
                found.append(Block("table", " ".join(pieces.texts[one] for one in rows[place])))
            continue
        text, around = pieces.texts[place], pieces.tree.parents[pieces.boxes[place]]
        # Code is text only where the page shows it as code.
        if is_code(text) and pieces.tree.tags[pieces.boxes[place]] not in _CODE_BOXES:
            continue
        # The same text in the same box is a refrain or a real repetition, so it stays, unless it is a lead
        # that follows itself.
        if size(text) >= _REPEATED and (
            first.setdefault(text, around) != around or (found and found[-1].text == text)
        ):
            continue
        found.append(Block(_kind(pieces, place), text))
    return found


def _below_headline(view: View) -> Marks:
    """True for the pieces below the headline in the innermost box around it that has prose below it.

    Pieces that the judge thinks much less likely than the best of them are left out.
    """
    marks = np.zeros(view.count, np.bool_)
    titles = key(view.known.title_tag), key(view.known.headline)
    # The longest part of the title is the headline. Shorter parts are names of the site and of sections.
    parts: dict[tuple[int, bool], int] = {}
    for at in np.flatnonzero(view.headings & (view.length >= _LEAST_HEADLINE)).tolist():
        words = key(view.pieces.texts[at])
        if any(words in title for title in titles):
            parts.setdefault((len(words), titles[0].startswith(words)), at)
    at = parts[max(parts)] if parts else 0
    box = view.pieces.boxes[at] if parts else 0
    while box > 0 and not (view.prose[marks & ~view.headings] > 0).any():
        marks = (view.steps_to(box)[view.box] < FAR) & ~view.titles & ~outside(view)
        marks[: at + 1] = False
        box = view.pieces.tree.parents[box]
    scores = judge(view)
    if int(view.length[marks].sum()) < _HARDLY_ANY or not (view.prose[marks & ~view.headings] > 0).any():
        return np.zeros(view.count, np.bool_)
    likely: Marks = marks & (scores > max(NEVER, scores[marks].max() - _MUCH_LESS))
    return likely


def _pointers(view: View) -> Marks:
    """True for lines that contain only a link to another page, perhaps after a short label.

    The links of an article are within sentences. Written-out URLs and headings are not pointers.
    """
    beside = np.array([len(text) for text in view.pieces.texts]) - np.array(view.pieces.linked)
    marks: Marks = (
        (beside <= _BESIDE) & (view.linked >= _LEAST_LINK) & (np.array(view.pieces.links) == 1) & ~view.ends
    )
    return marks & ~view.headings & ~view.addresses


def _kind(pieces: Pieces, place: int) -> Kind:
    tree, box = pieces.tree, pieces.boxes[place]
    if tree.tags[box] in _INNER:
        box = tree.parents[box]
    return KINDS.get(tree.tags[box], "paragraph")


def _carried(page: Page, view: View) -> Body | None:
    """Return a text for a page without visible text, or None.

    It comes from the data of the page's scripts, from the captions of a gallery, or from the summary.
    """
    found = tidy(embedded_blocks(page.tree))
    if not found and _is_named(page):
        found = tidy(sentence_blocks(page.tree))
    if found:
        return Body(tuple(found), "embedded", view)
    if is_gallery(page, page.headings[0] if page.headings else page.title_tag):
        below = dict.fromkeys(text_of(element, 1000) for element in page.tree.iter("figcaption"))
        shown = tidy([Block("paragraph", text) for text in islice(below, _MOST_PICTURES) if text])
        if size(join(shown)) >= _HARDLY_ANY:
            return Body(tuple(shown), "captions", view)
    teaser = _teaser(page)
    return Body((Block("paragraph", teaser),), TEASER, view) if teaser else None


def _is_named(page: Page) -> bool:
    """True for a page whose metadata declare an article."""
    return page.has_own_article or "article" in page.meta("og:type").lower()


def _teaser(page: Page) -> str:
    """Return the summary of an article whose text is not in the page.

    The result is empty if the page is not an article.
    """
    node = page.article
    if node is None or not _is_named(page) or not node.get("datePublished"):
        return ""
    stated = [*texts(node.get("description")), page.meta("og:description", "description")]
    said = max(map(squash, stated), key=len)  # some sites shorten the summary in one of the two places
    return said if size(said) >= _HARDLY_ANY else ""


def known_of(page: Page, stated: list[Block]) -> Known:
    """Return what the head, the headings and the structured data (``stated``) say about the article."""
    titles = (page.meta("og:title"), page.title_tag, *page.headings)
    return Known(
        titles=frozenset(filter(None, map(key, titles))),
        description=page.meta("og:description", "description"),
        stated=join(stated),
        headline=page.meta("og:title") or next(iter(page.headings), page.title_tag),
        title_tag=page.title_tag,
        site=_site(page),
        authors=_authors(page),
    )


def _authors(page: Page) -> frozenset[str]:
    found = next(author_candidates(page), None)
    return frozenset(name for name in map(key, found.value) if len(name) > 4) if found else frozenset()


def _site(page: Page) -> frozenset[str]:
    host = page.host.removeprefix("www.")
    names = [*host.split(".")[:-1], page.meta("og:site_name")[:60]]
    return frozenset(
        [name for text in names if len(name := key(text).replace(" ", "")) > 3] + [host] * (len(host) > 4)
    )


def stated_blocks(page: Page) -> list[Block]:
    """Return the ``articleBody`` of JSON-LD as blocks. The result is empty if there is none."""
    value = page.article.get("articleBody") if page.article is not None else None
    if not isinstance(value, str):
        return []
    # schema.org expects plain text, but many sites write escaped markup.
    text = unescape(value[:MAX_TEXT])
    if _MARKUP.search(text):
        try:
            return render([fragment_fromstring(text, create_parent="div")])
        except (etree.ParserError, ValueError, AssertionError):
            return []
    return [Block("paragraph", line) for line in map(squash, text.splitlines()) if line]


def _is_better(stated: list[Block], found: list[Block]) -> bool:
    """True if the text in the structured data (``stated``) should replace the ``found`` text.

    This is the case if the found text is less than half as long.
    """
    length = size(join(stated))
    return length >= 200 and size(join(found)) * 2 < length and not looks_like_code(join(stated))


def _comments(page: Page) -> frozenset[HtmlElement]:
    """Return the comments of readers that the microdata name."""
    return frozenset(
        element
        for element in page.marked
        if _COMMENT.search(element.get("itemtype") or "") and element not in page.around_headline
    )


MAX_HEADLINES = 60
"""Maximum number of headings that are checked."""
_LEAST = 200
"""Minimum length of the page's own article. A shorter article may be the box of a teaser."""
_HEADING = 15
"""Minimum length of the headline of another article."""
_BYLINE = re.compile(
    r"byline|author|dateline|timestamp|published|pubdate|post-?meta|entry-?meta", re.IGNORECASE
)
_FOLLOWING = 4
"""Maximum number of elements from a headline to its byline or time."""


def next_articles(page: Page) -> frozenset[HtmlElement]:
    """Return the other articles that some pages show below their own article.

    Such an article is in a box like the box of the page's own article, or it is an ``<article>``. It has its
    own headline: an ``<h1>``, a heading with a link, or a heading with a byline or time. The result is empty
    unless the headline of the page is its title.
    """
    if not page.headlines:
        return frozenset()
    own = page.headlines[0]
    headline = key(text_of(own))
    titled = key(page.title_tag or page.meta("og:title"))
    # The entries of a live blog are <article> elements with headings too.
    if (
        size(headline) < _HEADING
        or not titled.startswith(headline)
        or form_of(page, page.title_tag, "") == "live"
    ):
        return frozenset()
    found: dict[HtmlElement, None] = {}
    path = [own, *own.iterancestors()]
    for heading in islice(page.tree.iter("h1", "h2", "h3"), MAX_HEADLINES):
        if heading is not own and key(text_of(heading, 500)) not in ("", headline):
            found.update(dict.fromkeys(_next_article(path, heading)))
    return frozenset(found)


def _next_article(path: list[HtmlElement], heading: HtmlElement) -> list[HtmlElement]:
    """Return the elements of the article that begins with ``heading``; empty if none begins there.

    ``path`` has the headline of the page's own article and all boxes around it.
    """
    own = path[0]
    holder, mine = _holder(heading), _holder(own)
    if heading.tag == "h1" and holder is not None and mine is not None and not _nested(holder, mine):
        return [holder] if _prose(mine) >= _LEAST else []
    box = heading
    while (around := box.getparent()) is not None and around not in path:
        box = around
    beside = None if around is None or around is own else path[path.index(around) - 1]
    if around is None or beside is None or around.index(beside) > around.index(box):
        return []
    if beside is own:
        return _flat(own, heading, box)
    if box is heading:
        return []
    if around.tag == box.tag == "article":
        return [box] if _is_signed(heading) and _prose(around) >= _LEAST + _prose(box) else []
    is_other = size(key(text_of(heading, 500))) >= _HEADING and _is_other(beside, box, heading)
    return [box] if is_other and _prose(beside) >= max(_LEAST, _prose(box) / 3) else []


def _nested(one: HtmlElement, other: HtmlElement) -> bool:
    return one is other or other in one.iterancestors() or one in other.iterancestors()


def _prose(box: HtmlElement) -> int:
    """Return the number of letters in the paragraphs of a box."""
    return sum(size(text_of(element, 2000)) for element in islice(box.iter("p"), 50))


def _holder(element: HtmlElement) -> HtmlElement | None:
    return next(element.iterancestors("article"), None)


def _is_other(own: HtmlElement, box: HtmlElement, heading: HtmlElement) -> bool:
    """True if ``box`` is like the box of the page's own article, and its heading is a headline."""
    if own.tag == box.tag == "article":
        return _has_headline(heading)
    # The cards of a round-up have headings with links too.
    if box.tag == "article":
        return own.find(".//article") is None and _is_signed(heading)
    # What follows the <article> of the page and has a headline and a time is not part of it.
    if own.tag == "article":
        return _is_signed(heading)
    alike = own.tag == box.tag and (_classes(own) & _classes(box) or not (_classes(own) | _classes(box)))
    return bool(alike) and (heading.tag == "h1" or _is_signed(heading))


def _classes(element: HtmlElement) -> set[str]:
    return set((element.get("class") or "")[:500].split())


def _has_headline(heading: HtmlElement) -> bool:
    """True if a heading has a link, or if a byline or a time follows it."""
    if heading.tag == "h1" or heading.find(".//a[@href]") is not None:
        return True
    if (parent := heading.getparent()) is not None and parent.tag == "a":
        return True
    return _is_signed(heading)


def _is_signed(heading: HtmlElement) -> bool:
    """True if a byline or a time follows the heading."""
    return any(
        near.tag == "time"
        or near.find(".//time") is not None
        or _BYLINE.search(near.get("class") or "")
        or _is_byline(text_of(near, _LONGEST_BYLINE + 1))
        for near in islice(heading.itersiblings(), _FOLLOWING)
    )


_LONGEST_BYLINE = 80


_MOST_WORDS = 6
"""Maximum number of words of a byline that does not begin with "by"."""


def _is_byline(text: str) -> bool:
    """True for a line with a name and a date: "By Jane Doe | 3 May 2024", "Jane Doe, 3 May 2024"."""
    if len(text) > _LONGEST_BYLINE or find_date(text) is None:
        return False
    is_short = len(text.split()) <= _MOST_WORDS and not text.endswith((".", "!", "?", ":"))
    return is_short or _begins_with_by(text)


def _begins_with_by(text: str) -> bool:
    return compiled(BY).match(text) is not None


def _flat(own: HtmlElement, heading: HtmlElement, box: HtmlElement) -> list[HtmlElement]:
    """Return the other article after an article that is not in a box: ``box``.

    If ``box`` is the heading itself, the other article is not in a box either. It is the headline with a
    byline or time, and what follows.
    """
    between = takewhile(lambda element: element is not box, own.itersiblings())
    is_headline = heading.tag == "h1" or heading.find(".//a[@href]") is not None
    is_headline |= box.tag in ("article", "section")
    line = next(map(text_of, heading.itersiblings()), "")
    # A heading between paragraphs, with a name and a date below it, begins another article.
    is_headline |= _is_byline(line) and _begins_with_by(line)
    if not is_headline or sum(size(text_of(one, 1000)) for one in islice(between, 100)) < _LEAST:
        return []
    if not _is_signed(heading):
        return []
    return [heading, *heading.itersiblings()] if box is heading else [box]
