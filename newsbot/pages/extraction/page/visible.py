"""Extracts the visible text of a page, without scripts, styles and elements that the markup hides.

Each block (paragraph, cell, heading) is one line, with white space as browsers show it. Style sheets are not
read, so text that only a style sheet hides counts as visible.

:func:`blocks` converts markup to paragraphs of plain text in page order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.extraction.strings import preformatted, resolved, squash, word_set

MAX_TEXT = 1_000_000
"""Maximum length of the text of one page, in characters."""

# Elements whose content is never visible text.
_UNSEEN = frozenset((
    "head", "title", "script", "style", "template", "noscript", "iframe", "object", "svg", "math", "datalist",
    "meta", "link", "param", "source", "track", "audio", "video", "canvas",
))  # fmt: skip
PHRASING = word_set(
    "a abbr acronym b basefont bdi bdo big blink button cite code data del dfn em font i ins kbd label mark",
    "meter nobr output progress q rb rp rt rtc ruby s samp slot small span strike strong sub sup time tt u",
    "var wbr",
)
"""Elements inside sentences. They do not begin a new line."""
SENTENCES = word_set("p li h1 h2 h3 h4 h5 h6 blockquote dd dt td figcaption")
"""Elements that contain sentences. Elements of unknown names inside them do not begin a new line."""
_IN_LINE = PHRASING | {"img", "input", "picture", "select"}
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
_STOPS = re.compile(r"[.!?…:;。！？]\W*$")
_BLANK = re.compile(r"\s+")
_NO_WIDTH = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))


def visible_text(tree: HtmlElement) -> str:
    """Return the visible text of a page, at most :data:`MAX_TEXT` characters. The tree is not changed."""
    return "\n".join(_lines("".join(_pieces(tree))))[:MAX_TEXT]


def plain_lines(text: str) -> str:
    """Return a plain text in the form in which :func:`visible_text` returns the text of a page."""
    return "\n".join(_lines(text.replace("\r", "\n")))[:MAX_TEXT]


def smooth(text: str) -> str:
    """Return a text with single spaces and without zero-width characters."""
    return _BLANK.sub(" ", text.translate(_NO_WIDTH)).strip()


def is_in_sentence(control: etree._Element) -> bool:
    """True for a button whose text is part of the sentence around it, as in glossaries.

    In a paragraph, a sentence must go on after the button or be unfinished before it. Elsewhere, both.
    """
    before = after = False
    element: etree._Element | None = control
    while element is not None and (element is control or element.tag in PHRASING):
        after = after or bool((element.tail or "").strip())
        previous, parent = element.getprevious(), element.getparent()
        text = (parent.text if parent is not None else "") if previous is None else previous.tail
        before = before or bool(text and text.strip() and not _STOPS.search(text[-20:]))
        element = parent
    return (before or after) if element is not None and element.tag in SENTENCES else (before and after)


def _lines(text: str) -> Iterator[str]:
    yield from filter(None, map(smooth, text.split("\n")))


def _pieces(tree: HtmlElement) -> Iterator[str]:
    """Yield the text in document order, with a line break wherever a block begins or ends."""
    walk = etree.iterwalk(tree, events=("start", "end"))
    hidden: etree._Element | None = None
    for event, element in walk:
        block = element.tag not in _IN_LINE
        if event == "start" and hidden is None:
            if _is_hidden(element):
                hidden = element
                walk.skip_subtree()
                continue
            if block:
                yield "\n"
            yield _BLANK.sub(" ", element.text or "")
        elif event == "end":
            # skip_subtree() does not suppress the end event. The tail of a hidden element is visible.
            if hidden is element:
                hidden = None
            elif block:
                yield "\n"
            if element is not tree:
                yield _BLANK.sub(" ", element.tail or "")


def _is_hidden(element: etree._Element) -> bool:
    if not isinstance(element.tag, str) or element.tag in _UNSEEN or "hidden" in element.attrib:
        return True
    return "style" in element.attrib and _HIDING.search(str(element.attrib["style"])) is not None


Kind = Literal["paragraph", "heading", "quote", "item", "table"]

MAX_BLOCKS = 5000
"""Maximum number of blocks of a text. Further blocks are dropped."""

KINDS: dict[str, Kind] = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "li": "item", "dt": "item", "dd": "item", "td": "table", "th": "table",
}  # fmt: skip
"""Kind of a block by the name of its element."""
# Elements whose content is not part of a text.
_SKIPPED = word_set(
    "script style noscript template svg iframe object embed video audio canvas select option input "
    "textarea form nav figcaption "
    "aside head title img picture source menu dialog"
)


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph of plain text, on one line, and its kind."""

    kind: Kind
    text: str


def render(roots: Iterable[etree._Element], removed: Collection[etree._Element] = ()) -> list[Block]:
    """Return the blocks in ``roots`` without navigation, forms, captions and the ``removed`` elements."""
    blocks: list[Block] = []
    for root in roots:
        _Renderer(root, frozenset(removed), blocks).run()
    return blocks


def join(blocks: Iterable[Block]) -> str:
    """Return the text of an article, one block per line."""
    return "\n".join(block.text for block in blocks)


class _Renderer:
    """Walks through the tree below one root and appends its blocks to a list."""

    def __init__(self, root: etree._Element, removed: frozenset[etree._Element], blocks: list[Block]) -> None:
        self._root = root
        self._removed = removed
        self._blocks = blocks
        self._parts: list[str] = []
        self._kinds: list[Kind] = ["paragraph"]
        self._depth_of_pre = 0

    def run(self) -> None:
        walker = etree.iterwalk(self._root, events=("start", "end"))
        for event, element in walker:
            if len(self._blocks) >= MAX_BLOCKS:
                return
            if event == "start":
                if self._is_skipped(element):
                    # The end event of the element still occurs. Its tail, which is text of the parent, is
                    # added there.
                    walker.skip_subtree()
                else:
                    self._start(element)
            else:
                self._end(element)
        self._flush()

    def _is_skipped(self, element: etree._Element) -> bool:
        name = element.tag
        if element is self._root:
            return False
        if not isinstance(name, str) or element in self._removed:
            return True
        return name in _SKIPPED or (name == "button" and not is_in_sentence(element))

    def _start(self, element: etree._Element) -> None:
        if _is_break(element):
            self._flush()
            self._depth_of_pre += element.tag == "pre"
            if element.tag in KINDS:
                self._kinds.append(KINDS[str(element.tag)])
        if element.text:
            self._parts.append(element.text)

    def _end(self, element: etree._Element) -> None:
        # A skipped element has not pushed its kind, so it must not pop one.
        if _is_break(element) and not (element is not self._root and self._is_skipped(element)):
            self._flush()
            self._depth_of_pre -= element.tag == "pre"
            if element.tag in KINDS:
                self._kinds.pop()
        if element.tail and element is not self._root:
            self._parts.append(element.tail)

    def _flush(self) -> None:
        if not self._parts:
            return
        text = resolved("".join(self._parts))
        self._parts.clear()
        lines = preformatted(text) if self._depth_of_pre else (text,)
        self._blocks.extend(Block(self._kinds[-1], line) for line in map(squash, lines) if line)


def _is_break(element: etree._Element) -> bool:
    """True for an element that begins a new block. Custom elements do not."""
    name = str(element.tag)
    return name not in PHRASING and "-" not in name and ":" not in name
