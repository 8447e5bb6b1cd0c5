"""Extracts the visible text of a page, without scripts, styles and elements that the markup hides.

Each block (paragraph, cell, heading) is one line, with white space as browsers show it. Style sheets are not
read, so text that only a style sheet hides counts as visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.extraction.strings import word_set

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
