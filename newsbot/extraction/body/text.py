"""The text of an article: by the site's rule, else the pieces that the judge takes, else what data hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from itertools import islice

import numpy as np
from lxml import etree
from lxml.html import fragment_fromstring

from newsbot.extraction.authors import author_candidates
from newsbot.extraction.blocks import Block, Kind, join, render
from newsbot.extraction.body.features import Known, Marks, View
from newsbot.extraction.body.judge import judge
from newsbot.extraction.body.nextarticles import next_articles
from newsbot.extraction.body.pieces import Pieces, cut, tag_number
from newsbot.extraction.boilerplate import SiteMemory
from newsbot.extraction.embedded import embedded_blocks, sentence_blocks
from newsbot.extraction.evidence import GENERIC, JSON_LD, RULE
from newsbot.extraction.form import is_gallery
from newsbot.extraction.jsonld import texts
from newsbot.extraction.page import Page, text_of
from newsbot.extraction.selectors import Selected
from newsbot.extraction.strings import key, looks_like_code, size, squash
from newsbot.extraction.tidy import tidy, trim_edges

MAX_TEXT = 500_000
TEASER = "teaser"
"""The method of a text that is only the summary of one that the page does not hold."""
_HARDLY_ANY = 100
"""Letters of a text that is not worth the name."""
_REPEATED = 40
"""Letters of a line that is a copy (for phones, for print) where it comes again in another box."""
_BESIDE = 12
"""Characters beside the link of a line that only leads elsewhere."""
_LEAST_LINK = 20
_HEADINGS = [tag_number(f"h{level}") for level in range(1, 7)]
_MOST_PICTURES = 500
_KINDS: dict[str, Kind] = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "li": "item", "dt": "item", "dd": "item", "td": "cell", "th": "cell",
}  # fmt: skip
_INNER = frozenset({"p", "div", "span"})
"""Boxes that are what the box around them is: ``<blockquote><p>`` is a quote."""
_SENTENCE = re.compile(r"^.{20,160}?[.!?…](?=\s|$)")
_MARKUP = re.compile(r"</?(?:p|br|div|h[1-6]|li|ul|strong|em|a|span)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Body:
    """The blocks of the text and the method that found them."""

    blocks: tuple[Block, ...]
    method: str
    view: View | None = field(default=None, compare=False, repr=False)
    """The pieces of the page, where they were looked at."""

    @property
    def text(self) -> str:
        """One block a line."""
        return join(self.blocks)[:MAX_TEXT]

    def trimmed(self, title: str, authors: list[str]) -> Body:
        """Return the body without headline, names and date at its edges.

        A text that a rule gave loses only the headline.
        """
        blocks = list(self.blocks)
        if self.method == RULE:
            blocks = blocks[1:] if len(blocks) > 1 and key(blocks[0].text) == key(title) else blocks
        else:
            blocks = trim_edges(blocks, title, authors)
        return Body(tuple(blocks), self.method, self.view)

    def structure(self) -> dict[str, list[int]]:
        """Return the numbers of the lines of :attr:`text` that are not plain paragraphs, by kind."""
        found: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            if block.kind != "paragraph":
                found.setdefault(block.kind, []).append(number)
        return found

    def first_sentence(self) -> str:
        """Return what may stand for a missing headline."""
        text = next((block.text for block in self.blocks if len(block.text) >= 20), "")
        match = _SENTENCE.match(text)
        return match[0] if match else text[:100].rsplit(" ", 1)[0]


def find_body(page: Page, selected: Selected, memory: SiteMemory | None = None) -> Body:
    """Return the text of the page, empty if there is none.

    A page whose text a rule gives is not judged. ``memory`` knows lines of other articles of the site.
    """
    blocks = selected.blocks() if selected.names("text") else []
    if blocks:
        return Body(tuple(blocks), RULE)
    stated = _stated(page)
    view = View(cut(page.tree, selected.removed | next_articles(page)), _known(page, stated))
    blocks = tidy(judged_blocks(view))
    if memory is not None:
        blocks = memory.own(page.url, blocks)
    if stated and _is_better(stated, blocks):
        return Body(tuple(stated), JSON_LD, view)
    if sum(len(block.text) for block in blocks if block.kind != "heading") < _HARDLY_ANY:
        carried = _carried(page)
        if carried is not None:
            return carried
    return Body(tuple(blocks), GENERIC, view)


def judged_blocks(view: View) -> list[Block]:
    """Return the pieces that belong to the article.

    Where the judge takes hardly anything, the prose of the densest box is the text: a whole block of prose
    that stands alone on a page is not left out, however unlike an article the page is.
    """
    if not view.count:
        return []
    chosen = judge(view) > 0
    is_heading = np.isin(view.tag, _HEADINGS)
    if int(view.length[chosen & ~is_heading].sum()) < _HARDLY_ANY:
        dense = view.in_densest & (view.prose > 0)
        chosen = dense if int(view.prose[dense].sum()) >= _HARDLY_ANY else chosen
    pieces = view.pieces
    found: list[Block] = []
    first: dict[str, int] = {}
    for place in np.flatnonzero(chosen & ~_pointers(view)).tolist():
        text, around = pieces.texts[place], pieces.tree.parents[pieces.boxes[place]]
        if len(text) >= _REPEATED and first.setdefault(text, around) != around:
            continue
        found.append(Block(_kind(pieces, place), text))
    return found


def _pointers(view: View) -> Marks:
    """True for lines that hold nothing but a link, perhaps after a short label: they lead elsewhere.

    An article links from within its sentences. Addresses that are written out and headings stay.
    """
    beside = np.array([len(text) for text in view.pieces.texts]) - np.array(view.pieces.linked)
    marks: Marks = (
        (beside <= _BESIDE) & (view.linked >= _LEAST_LINK) & (np.array(view.pieces.links) == 1) & ~view.ends
    )
    return marks & ~np.isin(view.tag, _HEADINGS) & ~view.addresses


def _kind(pieces: Pieces, place: int) -> Kind:
    tree, box = pieces.tree, pieces.boxes[place]
    if tree.tags[box] in _INNER:
        box = tree.parents[box]
    return _KINDS.get(tree.tags[box], "paragraph")


def _carried(page: Page) -> Body | None:
    """What a page without visible text holds of one: in its scripts, below its pictures, as a summary."""
    found = tidy(embedded_blocks(page.tree))
    if not found and _is_named(page):
        found = tidy(sentence_blocks(page.tree))
    if found:
        return Body(tuple(found), "embedded")
    if is_gallery(page, page.headings[0] if page.headings else page.title_tag):
        below = dict.fromkeys(text_of(element, 1000) for element in page.tree.iter("figcaption"))
        shown = tidy([Block("paragraph", text) for text in islice(below, _MOST_PICTURES) if text])
        if size(join(shown)) >= _HARDLY_ANY:
            return Body(tuple(shown), "captions")
    teaser = _teaser(page)
    return Body((Block("paragraph", teaser),), TEASER) if teaser else None


def _is_named(page: Page) -> bool:
    """True for a page whose data call it an article."""
    return page.nodes.own is not None or "article" in page.meta("og:type").lower()


def _teaser(page: Page) -> str:
    """The summary that the data state of an article whose text the page does not hold at all."""
    node = page.article
    if node is None or not _is_named(page) or not node.get("datePublished"):
        return ""
    stated = [*texts(node.get("description")), page.meta("og:description", "description")]
    said = max(map(squash, stated), key=len)  # data may cut theirs short
    return said if size(said) >= _HARDLY_ANY else ""


def known_of(page: Page) -> Known:
    """Return what the head and the headings say of the article."""
    return _known(page, _stated(page))


def _known(page: Page, stated: list[Block]) -> Known:
    titles = (page.meta("og:title"), page.title_tag, *page.headings)
    keys = frozenset(filter(None, map(key, titles)))
    return Known(
        titles=keys,
        description=page.meta("og:description", "description"),
        stated=join(stated),
        headline=page.meta("og:title") or next(iter(page.headings), page.title_tag),
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


def _stated(page: Page) -> list[Block]:
    """The ``articleBody`` of JSON-LD, in paragraphs if it has any."""
    value = page.article.get("articleBody") if page.article is not None else None
    if not isinstance(value, str):
        return []
    text = unescape(value[:MAX_TEXT])
    if _MARKUP.search(text):
        try:
            return render([fragment_fromstring(text, create_parent="div")])
        except (etree.ParserError, ValueError, AssertionError):
            return []
    return [Block("paragraph", line) for line in map(squash, text.splitlines()) if line]


def _is_better(stated: list[Block], found: list[Block]) -> bool:
    """The stated text replaces one that was not found, or that is less than half of it."""
    length = size(join(stated))
    return length >= 200 and size(join(found)) * 2 < length and not looks_like_code(join(stated))
