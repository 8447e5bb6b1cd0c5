"""Converts markup to blocks: paragraphs of plain text in page order."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from newsbot.pages.extraction.page.visible import PHRASING, is_in_sentence
from newsbot.pages.extraction.strings import preformatted, resolved, squash, word_set

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
