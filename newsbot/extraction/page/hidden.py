"""Finds elements whose text no reader sees, by their attributes and inline styles.

Such text is often spam, or instructions for machines. Style sheets are not read. The rest of an article
behind a button ("Read more") is hidden too, but readers can show it, so it does not count as hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.page.page import text_of, xpath
from newsbot.extraction.page.visible import PHRASING
from newsbot.extraction.strings import size, squash

MAX_HIDDEN = 200
"""Maximum number of elements with such attributes that are checked."""
_MARKED = xpath("descendant::*[@hidden or @aria-hidden or @style]")
_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|text-indent\s*:\s*-\d{3}|clip\s*:\s*rect\(\s*[01](?:px)?\b|clip-path\s*:\s*inset\(\s*(?:50|100)%)",
    re.IGNORECASE,
)
_MOVED = re.compile(r"(?:^|;)\s*(?:left|top|right)\s*:\s*-\d{3}", re.IGNORECASE)
_ABSOLUTE = re.compile(r"position\s*:\s*(?:absolute|fixed)", re.IGNORECASE)
_COLOR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;]{1,40})", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;]{1,40})", re.IGNORECASE)
_WHITE = re.compile(r"(?:white|#fff(?:fff)?|rgba?\(255,255,255(?:,1)?\))(?:!important)?")
_PROSE = 40
"""Minimum number of letters of a text that is prose."""
_REST = 200
"""Minimum number of letters of the hidden rest of an article."""
_TOGGLES = ("aria-expanded", "aria-controls", "onclick", "data-toggle", "data-target", "data-bs-toggle")
_BODY = xpath("//*[@itemprop='articleBody']")
_CONTROLS = xpath("//*[@aria-controls or @data-target or @data-bs-target]")
_SIBLINGS = 40
"""Maximum number of elements beside a hidden element that are read on each side."""
_NEAR = 3
"""Maximum number of elements between the hidden rest and its button."""


def hidden_elements(tree: HtmlElement) -> frozenset[HtmlElement]:
    """Return the elements whose text no reader sees.

    Elements that contain the headline or the article are left out.
    """
    found = dict.fromkeys(
        islice(
            (element for element in islice(_MARKED(tree), 8 * MAX_HIDDEN) if _is_hidden(element)), MAX_HIDDEN
        )
    )
    if not found:
        return frozenset()
    for element in (*islice(tree.iter("h1", "main", "article"), MAX_HIDDEN), *_BODY(tree)[:MAX_HIDDEN]):
        for box in (element, *element.iterancestors()):
            found.pop(box, None)
    opened = _opened(tree) if any("id" in element.attrib for element in found) else frozenset()
    return frozenset(
        element
        for element in found
        if element.get("id") not in opened and not _is_late(element) and not _is_rest(element, found)
    )


def _opened(tree: HtmlElement) -> frozenset[str]:
    """Return the ids of the elements that a control shows."""
    names = ("aria-controls", "data-target", "data-bs-target")
    values = [element.get(name) or "" for element in _CONTROLS(tree)[:MAX_HIDDEN] for name in names]
    return frozenset(word.lstrip("#") for value in values for word in value[:500].split())


def _is_hidden(element: HtmlElement) -> bool:
    if str(element.get("hidden", "until-found")).lower() != "until-found":
        return True
    style = element.get("style", "")[:1000]
    if style and (_STYLE.search(style) or _is_off_screen(style) or _is_white_on_white(element, style)):
        return True
    # Icons and signs are often hidden from screen readers only, and so are the paragraphs below a paywall.
    parent = element.getparent()
    if not _is_unspoken(element) or parent is None:
        return False
    return sum(map(_is_unspoken, islice(parent.iterchildren(str(element.tag)), _SIBLINGS))) == 1


def _is_unspoken(element: etree._Element) -> bool:
    return element.get("aria-hidden") == "true" and size(text_of(element, 500)) >= _PROSE


def _is_late(element: HtmlElement) -> bool:
    """True for a part that React moves to its place when the page is complete (``<div hidden id="S:1">``)."""
    return str(element.get("id", "")).startswith("S:")


def _is_off_screen(style: str) -> bool:
    return _ABSOLUTE.search(style) is not None and _MOVED.search(style) is not None


def _is_white_on_white(element: HtmlElement, style: str) -> bool:
    color = _value(_COLOR, style)
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


def _is_rest(element: HtmlElement, hidden: dict[HtmlElement, None]) -> bool:
    """True for the hidden rest of an article: prose at the end of a box with visible prose, and a button."""
    parent = element.getparent()
    while parent is not None and len(parent) == 1 and not (parent.text or "").strip():
        element, parent = parent, parent.getparent()
    if parent is None or element.get("aria-hidden") == "true":
        return False
    before = _nearest(element, preceding=True)
    after = _nearest(element, preceding=False)
    if any(size(_own_text(one)) >= _PROSE for one in after if one not in hidden):
        return False
    prose = size(squash(parent.text or "")) + sum(size(_own_text(one)) for one in before if one not in hidden)
    rest = sum(
        size(text_of(one, _REST)) for one in (element, *before, *after) if one is element or one in hidden
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
