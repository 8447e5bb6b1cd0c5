"""Cuts a page into pieces: runs of text between line breaks, each with the boxes of markup around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.strings import resolved, squash, word_set

MAX_PIECES = 4000
"""Maximum number of pieces of a page. The longest real articles have about 1,000."""

_INLINE = word_set(
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr q s samp small span",
    "strike strong sub sup time tt u var wbr",
)
_SKIPPED = word_set(
    "script style noscript template svg head iframe object embed video audio canvas link meta select option",
    "input textarea button math map",
)
# Elements that count as pictures although they are skipped.
_MOVING = frozenset({"iframe", "video", "object", "embed"})
REGIONS = (
    "article", "main", "aside", "nav", "footer", "header", "figure", "figcaption", "form", "table", "ul",
    "blockquote", "section", "hidden",
)  # fmt: skip
"""Elements whose name is recorded for all pieces inside them. "hidden" stands for any hidden element."""
_REGION_NAMES = frozenset(REGIONS)
_STRONG = frozenset({"b", "strong", "em", "i"})
_SENTENCES = frozenset(
    {"p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "dd", "dt", "figcaption"}
)
"""Elements that contain sentences.

Custom elements (with a hyphen in the name) inside them do not begin a new line.
"""
_PLAIN = _INLINE - _STRONG - {"a"}
"""Elements that change only the look of words. They do not matter for the pieces."""
# Attributes whose words are those of a box.
_NAMES = ("class", "id", "itemprop", "role", "data-testid", "data-component")
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_HIDDEN = re.compile(r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Box:
    """A block element, such as a paragraph or a ``<div>``.

    ``words`` are the words in its class, id, role and similar attributes. ``regions`` are the names in
    :data:`REGIONS` of the box and its ancestors. ``kind`` is equal for similar boxes. ``depth`` is the number
    of ancestors.
    """

    tag: str
    words: tuple[str, ...]
    parent: Box | None
    regions: frozenset[str]
    kind: str
    depth: int

    def above(self, steps: int) -> Box:
        """Return the ancestor ``steps`` levels up, or the outermost box."""
        box = self
        for _ in range(steps):
            if box.parent is None:
                break
            box = box.parent
        return box


@dataclass(slots=True, eq=False)
class Piece:
    """A run of text on one line.

    ``box`` is the innermost box around it. ``linked`` and ``strong`` are the shares of its letters in links
    and in bold or italics, 0 to 1. ``links`` is the number of links. ``after_break`` is True if ``<br>``
    precedes the piece.
    """

    text: str
    box: Box
    linked: float
    strong: float
    links: int
    after_break: bool
    pictures: int = 0
    """Number of pictures between the previous piece and this one."""


def cut(tree: HtmlElement) -> list[Piece]:
    """Return the pieces of a page in order. The tree is not changed."""
    body = tree.find("body")
    return _Cutter(tree if body is None else body).run()


@dataclass(slots=True)
class _Cutter:
    """Walks through a page and collects its pieces. The counts are those of the piece that is being read."""

    root: HtmlElement
    pieces: list[Piece] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names of the open block elements."""
    boxes: list[Box | etree._Element] = field(default_factory=list)
    """The open block elements. They become boxes when a piece needs them, because many contain no text."""
    in_link: int = 0
    in_strong: int = 0
    linked: int = 0
    strong: int = 0
    links: int = 0
    pictures: int = 0
    after_break: bool = False

    def run(self) -> list[Piece]:
        self.names.append("body")
        self.boxes.append(Box("body", _words(dict(self.root.items())), None, frozenset(), "body", 0))
        walker = etree.iterwalk(self.root, events=("start", "end"))
        # This loop runs for each element, so it must be fast. White space before a piece is skipped, because
        # most of it is between elements. Inside a piece, white space separates words.
        for event, element in walker:
            name = element.tag
            if name in _SKIPPED or not isinstance(name, str):
                if event == "start":
                    self.pictures += name in _MOVING
                    walker.skip_subtree()
                    continue
            elif event == "start":
                if name not in _PLAIN:
                    self._start(element, name)
                if (text := element.text) and (self.parts or not text.isspace()):
                    self._add(text)
                continue
            elif name not in _PLAIN:
                self._end(element, name)
            if (text := element.tail) and (self.parts or not text.isspace()) and element is not self.root:
                self._add(text)
            if len(self.pieces) >= MAX_PIECES:
                return self.pieces
        self._flush()
        return self.pieces

    def _start(self, element: etree._Element, name: str) -> None:
        if name == "a":
            self.in_link += 1
            self.links += 1
        elif name in _STRONG:
            self.in_strong += 1
        elif name == "br":
            self._flush()
            self.after_break = True
        elif name == "img":
            self._picture()
        # Custom elements in a sentence are links or tooltips of the site and do not break the line.
        elif element is not self.root and not ("-" in name and self.names[-1] in _SENTENCES):
            if self.parts or self.links or self.after_break:
                self._flush()
            self.names.append(name)
            self.boxes.append(element)

    def _end(self, element: etree._Element, name: str) -> None:
        if name == "a":
            self.in_link -= 1
        elif name in _STRONG:
            self.in_strong -= 1
        # The comparison of names excludes custom elements in sentences, which _start() has not opened.
        elif name not in ("br", "img") and element is not self.root and self.names[-1] == name:
            if self.parts or self.links or self.after_break:
                self._flush()
            self.names.pop()
            self.boxes.pop()

    def _picture(self) -> None:
        if self.parts or self.links or self.after_break:
            self._flush()
        self.pictures += 1

    def _add(self, text: str) -> None:
        self.parts.append(text)
        if (self.in_link or self.in_strong) and not text.isspace():
            self.linked += len(text) if self.in_link else 0
            self.strong += len(text) if self.in_strong else 0

    def _flush(self) -> None:
        text = "".join(self.parts)
        if text and not text.isspace() and (text := squash(resolved(text))):
            length = len(text)
            # The counts include white space that squash() has removed, so a share could exceed 1.
            linked, strong = min(1.0, self.linked / length), min(1.0, self.strong / length)
            self.pieces.append(
                Piece(text, self._box(), linked, strong, self.links, self.after_break, self.pictures)
            )
            self.pictures = 0
        # The counts are cleared even if there was no text. Otherwise links around pictures would count for
        # the next piece.
        self.parts.clear()
        self.linked = self.strong = self.links = 0
        self.after_break = False

    def _box(self) -> Box:
        """Return the innermost box. Boxes are created here, on first use, from the outside in."""
        known = len(self.boxes)
        while not isinstance(box := self.boxes[known - 1], Box):
            known -= 1
        for at in range(known, len(self.boxes)):
            element = self.boxes[at]
            if not isinstance(element, Box):
                box = self.boxes[at] = _box(element, self.names[at], box)
        return box


def _box(element: etree._Element, name: str, parent: Box) -> Box:
    attributes: Any = dict(element.items())
    words = _words(attributes) if attributes else ()
    regions = parent.regions
    if name in _REGION_NAMES and name not in regions:
        regions |= {name}
    if "hidden" in attributes or ("style" in attributes and _HIDDEN.search(attributes["style"][:500])):
        regions |= {"hidden"}
    # Only the end of the parent's kind is used, so that the strings stay short on deeply nested pages.
    kind = f"{parent.kind[-80:]}/{name}.{'.'.join(words[:4])}"
    return Box(name, words, parent, regions, kind, parent.depth + 1)


def _words(attributes: Mapping[Any, Any]) -> tuple[str, ...]:
    said = " ".join([value for name in _NAMES if (value := attributes.get(name))])
    return _split(said[:300]) if said else ()


@lru_cache(maxsize=8192)
def _split(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.lower() for word in _WORD.findall(said)))[:12]
