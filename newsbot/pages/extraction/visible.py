"""Extracts the visible text of a page, without scripts, styles and elements that the markup hides.

Each block (paragraph, cell, heading) is one line, with white space as browsers show it. Style sheets are not
read, so text that only a style sheet hides counts as visible.

:class:`Hidden` finds elements whose text no reader sees, by their attributes and inline styles. Such text is
often spam, or instructions for machines. The rest of an article behind a button ("Read more") is hidden too,
but readers can show it, so it does not count as hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.text.words import size, squash, word_set

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

KINDS: dict[str, Kind] = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "blockquote": "quote", "li": "item", "dt": "item", "dd": "item", "td": "table", "th": "table",
}  # fmt: skip
"""Kind of a block by the name of its element."""


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph of plain text, on one line, and its kind."""

    kind: Kind
    text: str


def join(blocks: Iterable[Block]) -> str:
    """Return the text of an article, one block per line."""
    return "\n".join(block.text for block in blocks)


MAX_STEPS = 4000
"""Maximum number of start and end tags that are visited to get the text of one element."""


def xpath(expression: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Compile an XPath that selects elements. Several threads may call the returned function."""
    compiled = etree.XPath(expression)

    def run(element: HtmlElement) -> list[HtmlElement]:
        found = compiled(element)
        return [hit for hit in found if isinstance(hit, HtmlElement)] if isinstance(found, list) else []

    return run


_MARKS = frozenset({"itemprop", "itemtype", "property", "aria-controls", "data-target", "data-bs-target"})
_CODE = frozenset({"script", "style"})


def marked(tree: HtmlElement) -> list[HtmlElement]:
    """Return the elements with microdata or RDFa, and the controls of other elements, in page order.

    Each walk over a page takes about half a millisecond, so all that need such elements share this one.
    """
    return [element for element in tree.iter(etree.Element) if not _MARKS.isdisjoint(element.keys())]


def text_of(element: HtmlElement, limit: int = 20_000) -> str:
    """Return the text of an element on one line, without scripts.

    Reading stops after about ``limit`` characters.
    """
    parts: list[str] = []
    length = 0
    for part in pieces_of(element):
        parts.append(part)
        length += len(part)
        if length > limit:
            break
    return squash("".join(parts))


def pieces_of(element: HtmlElement) -> Iterator[str]:
    """Yield the texts in an element in document order. At most :data:`MAX_STEPS` tags are visited.

    Inline elements may be inside a word (``<b>T</b>he``). So only other elements are separated by a space.
    """
    if not len(element):
        if element.text and element.tag not in _CODE:
            yield element.text
        return
    # lxml stores the text after an element as the tail of the element. Reading the tail at the end event
    # keeps the document order.
    for event, inner in islice(etree.iterwalk(element, events=("start", "end")), MAX_STEPS):
        if inner.tag not in PHRASING:
            yield " "
        if event == "end":
            if inner.tail and inner is not element:
                yield inner.tail
        elif inner.text and inner.tag not in _CODE:
            yield inner.text


MAX_HIDDEN = 200
"""Maximum number of elements with such attributes that are checked."""
_MARKED = xpath("descendant::*[@hidden or @aria-hidden or @style or @color]")
_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|text-indent\s*:\s*-\d{3}|transform\s*:\s*scale\(\s*0\s*\)|clip\s*:\s*rect\(\s*[01](?:px)?\b|clip-path\s*:\s*inset\(\s*(?:50|100)%)",
    re.IGNORECASE,
)
_MOVED = re.compile(r"(?:^|;)\s*(?:left|top|right)\s*:\s*-\d{3}", re.IGNORECASE)
_NO_SIZE = re.compile(r"(?:^|;)\s*(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|$|!)", re.IGNORECASE)
_CUT = re.compile(r"(?:^|;)\s*overflow\s*:\s*hidden", re.IGNORECASE)
_ABSOLUTE = re.compile(r"position\s*:\s*(?:absolute|fixed)", re.IGNORECASE)
_COLOR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;]{1,40})", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;]{1,40})", re.IGNORECASE)
_WHITE = re.compile(r"(?:white|#fff(?:fff)?|rgba?\(255,255,255(?:,1)?\))(?:!important)?")
_FOR_SCREEN_READERS = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|element-invisible)(?:\s|$)"
)
"""Matches the classes by which Bootstrap, WordPress, Drupal and others hide text from all but screen readers.

On real pages, such texts are labels of links and buttons.
"""
_PROSE = 40
"""Minimum number of letters of a text that is prose."""
_REST = 200
"""Minimum number of letters of the hidden rest of an article."""
_TOGGLES = ("aria-expanded", "aria-controls", "onclick", "data-toggle", "data-target", "data-bs-toggle")
_CONTROLS = ("aria-controls", "data-target", "data-bs-target")
_SIBLINGS = 40
"""Maximum number of elements beside a hidden element that are read on each side."""
_NEAR = 3
"""Maximum number of elements between the hidden rest and its button."""


class Hidden:
    """Decides which elements of a page are hidden. The result is the same for any order of the calls.

    ``marked`` are the elements that :func:`newsbot.pages.extraction.visible.marked` finds in ``tree``.
    """

    def __init__(self, tree: HtmlElement, marked: Sequence[HtmlElement]) -> None:
        self._tree, self._marked = tree, marked
        self.found: list[HtmlElement] = []
        """The elements that were found to be hidden, in the order of the calls."""

    def covers(self, element: HtmlElement) -> bool:
        """True for a hidden element. Elements that contain the headline or the article are not hidden."""
        # Labels that stand alone are left to the judge, whose trees know them.
        if is_for_screen_readers(element):
            text = text_of(element, 500)
            is_word = element.tag in PHRASING and any(map(str.isalnum, text))
            return (is_word or size(text) >= _PROSE) and element not in self._shown
        if len(self.found) >= MAX_HIDDEN or not _is_marked_hidden(element):
            return False
        name = str(element.get("id", ""))
        # React moves parts such as <div hidden id="S:1"> to their places when the page is complete.
        if (
            element in self._shown
            or name.startswith("S:")
            or (name and name in self._opened)
            or _is_rest(element)
        ):
            return False
        self.found.append(element)
        return True

    @cached_property
    def _shown(self) -> frozenset[HtmlElement]:
        """The elements around headlines and articles, and these elements."""
        bodies = (element for element in self._marked if element.get("itemprop") == "articleBody")
        inner = (
            *islice(self._tree.iter("h1", "main", "article"), MAX_HIDDEN),
            *islice(bodies, MAX_HIDDEN),
        )
        return frozenset(box for element in inner for box in (element, *element.iterancestors()))

    @cached_property
    def _opened(self) -> frozenset[str]:
        """The ids of the elements that a control shows."""
        controls = (one for one in self._marked if any(name in one.attrib for name in _CONTROLS))
        values = [one.get(name) or "" for one in islice(controls, MAX_HIDDEN) for name in _CONTROLS]
        return frozenset(word.lstrip("#") for value in values for word in value[:500].split())


def is_for_screen_readers(element: etree._Element) -> bool:
    """True for an element whose class says that only screen readers read it out."""
    names = element.get("class")
    return names is not None and _FOR_SCREEN_READERS.search(names[:500]) is not None


def hidden_elements(tree: HtmlElement) -> frozenset[HtmlElement]:
    """Return the elements whose text no reader sees."""
    hidden = Hidden(tree, marked(tree))
    return frozenset(element for element in islice(_MARKED(tree), 8 * MAX_HIDDEN) if hidden.covers(element))


def _is_marked_hidden(element: HtmlElement) -> bool:
    if _is_invisible(element):
        return True
    style = element.get("style", "")[:1000]
    if (style or "color" in element.attrib) and _is_white_on_white(element, style):
        return True
    # Icons and signs are often hidden from screen readers only, and so are the paragraphs below a paywall.
    parent = element.getparent()
    if not _is_unspoken(element) or parent is None:
        return False
    return sum(map(_is_unspoken, islice(parent.iterchildren(str(element.tag)), _SIBLINGS))) == 1


def _is_invisible(element: HtmlElement) -> bool:
    if str(element.get("hidden", "until-found")).lower() != "until-found":
        return True
    style = element.get("style", "")[:1000]
    return bool(style) and (_STYLE.search(style) is not None or _is_off_screen(style))


def _is_unspoken(element: etree._Element) -> bool:
    return element.get("aria-hidden") == "true" and size(text_of(element, 500)) >= _PROSE


def _is_off_screen(style: str) -> bool:
    moved = _ABSOLUTE.search(style) is not None and _MOVED.search(style) is not None
    return moved or (_CUT.search(style) is not None and _NO_SIZE.search(style) is not None)


def _is_white_on_white(element: HtmlElement, style: str) -> bool:
    color = _value(_COLOR, style) or (element.get("color") or "").lower()
    if not color:
        return False
    boxes = (element, *islice(element.iterancestors(), 10))
    values = (
        _value(_BACKGROUND, box.get("style") or "") or (box.get("bgcolor") or "").lower() for box in boxes
    )
    if background := next(filter(None, values), ""):
        return _same(color, background)
    if not _WHITE.fullmatch(color):
        return False
    # A box may be dark by its style sheet. Then all text in it is bright.
    parent = element.getparent()
    if parent is None:
        return False
    return bool((parent.text or "").strip() or (element.tail or "").strip()) or any(
        not _WHITE.fullmatch(_value(_COLOR, one.get("style") or "")) and size(text_of(one, 200)) >= _PROSE
        for one in islice(parent.iterchildren(etree.Element), 20)
        if one is not element
    )


def _value(pattern: re.Pattern[str], style: str) -> str:
    match = pattern.search(style[:1000])
    return re.sub(r"\s", "", match[1].lower()) if match else ""


def _same(color: str, background: str) -> bool:
    return color == background or bool(_WHITE.fullmatch(color) and _WHITE.fullmatch(background))


def _is_rest(element: HtmlElement) -> bool:
    """True for the hidden rest of an article: prose at the end of a box with visible prose, and a button."""
    parent = element.getparent()
    while parent is not None and len(parent) == 1 and not (parent.text or "").strip():
        element, parent = parent, parent.getparent()
    # A text that is only hidden from screen readers is not behind a button.
    if parent is None or not _is_invisible(element):
        return False
    before = _nearest(element, preceding=True)
    after = _nearest(element, preceding=False)
    if any(size(_own_text(one)) >= _PROSE for one in after if not _is_marked_hidden(one)):
        return False
    prose = size(squash(parent.text or "")) + sum(
        size(_own_text(one)) for one in before if not _is_marked_hidden(one)
    )
    rest = sum(
        size(text_of(one, _REST))
        for one in (element, *before, *after)
        if one is element or _is_marked_hidden(one)
    )
    return prose >= _PROSE and rest >= _REST and any(map(_is_toggle, _around(element, parent)))


def _nearest(element: HtmlElement, *, preceding: bool) -> list[HtmlElement]:
    near = islice(element.itersiblings(preceding=preceding), _SIBLINGS)
    return [one for one in near if isinstance(one, HtmlElement)]


def _own_text(element: HtmlElement) -> str:
    """Return the text of an element without the text of its links and buttons."""
    if element.tag in ("a", "button") or element.find(".//h1") is not None:
        return squash(element.tail or "")
    return text_of(element, 2000) + squash(element.tail or "")


def _around(element: HtmlElement, parent: HtmlElement) -> Iterator[etree._Element]:
    box: HtmlElement | None = element
    while box is not None and (box is element or box is parent or box.tag in PHRASING):
        for near in (*islice(box.itersiblings(), _NEAR), *islice(box.itersiblings(preceding=True), _NEAR)):
            yield near
            yield from islice(near.iter("button", "a", "label", "summary"), _NEAR)
        box = box.getparent()


def _is_toggle(element: etree._Element) -> bool:
    if element.tag in ("button", "label", "summary") or element.get("role") == "button":
        return True
    if element.tag == "a" and (element.get("href") or "#").startswith(("#", "javascript:")):
        return True
    return any(name in element.attrib for name in _TOGGLES)
