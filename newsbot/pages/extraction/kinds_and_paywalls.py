"""Classifies the text of a page as story, live blog or gallery, and detects texts that a paywall cuts off."""

from __future__ import annotations

import re
from itertools import islice
from typing import cast

from lxml import etree
from lxml.html import HtmlElement

from newsbot.items import Form
from newsbot.pages.extraction.page.jsonld import Node, scalar, types_of
from newsbot.pages.extraction.page.page import Page
from newsbot.pages.extraction.strings import size, words
from newsbot.pages.text.languages import compiled

_LIVE_PATH = r"/%(live_paths)s(?:[/._-]|$)|[-_/]%(live_anywhere)s"
_LIVE_TITLE = r"^\W{0,3}%(live)s(?:\s{0,2}[:|–—.】\]-]|$)|%(live_anywhere)s|\s[–—|-]\s(?-i:LIVE|Live)$"
_LIVE_NAME = re.compile(r"live-?_?(?:blog|ticker|feed|updates|entry|post)", re.IGNORECASE)
_GALLERY_TITLE = r"^\W{0,3}%(galleries)s\s{0,2}[:|–—.-]|[(\[|:–—-]\s{0,2}%(gallery_ends)s\W{0,2}$"
_GALLERY_PATH = r"/%(gallery_paths)s(?:[/._-]|$)"
_GALLERY_TYPE = re.compile(r"(?:Image|Media|Photograph)Gallery$")
_LIVE_TYPE = re.compile(r"LiveBlogPosting$")
_STAMPS = 8
"""Minimum number of ``<time>`` elements in a live blog."""
_GALLERY_PICTURES = 5
"""Minimum number of pictures in a gallery."""
_MOST_PICTURES = 500
"""Maximum number of pictures that are counted."""
_BOXES_ABOVE = 10
"""Maximum number of ancestors of an element whose classes and ids are read."""
_MOST_TIMES = 60
"""Maximum number of ``<time>`` elements whose ancestors are checked."""
_GALLERY_TEXT = 3000
"""Maximum length of a gallery's text. A longer text is a story with pictures."""

# Parts of the class or id of a paywall.
_WALL = re.compile(
    r"pay-?wall|piano-(?:offer|inline)|reg-?wall|subscri(?:be|ption)-(?:wall|required|only)|premium-(?:content|"
    r"wall)|locked-content|metered|offer-?wall|abo-?wall",
    re.IGNORECASE,
)
# Each match of _WALL contains one of these strings.
_WALL_WORDS = ("wall", "piano-", "subscri", "premium-", "locked-content", "metered")
_NAMES = etree.XPath(
    "//*[not(self::body or self::html or self::script or self::style)]/@*[name()='class' or name()='id']",
    smart_strings=False,
)
_TEASER = 1500
"""Maximum length of the free part of an article, in letters. A longer text counts as complete."""
# The end of a text that was cut off.
_CUT = re.compile(r"(?:\.\.\.|…|\[…\])\W{0,3}$")
_MOST_MARKED = 5000
"""Maximum number of classes and ids that are searched for a paywall."""
# A single XPath for classes and ids is slow on pages with many siblings, because it sorts its result. The
# limit is higher than _MOST_MARKED, because _NAMES leaves out some elements.
_ALL_NAMES = tuple(
    etree.XPath(f"(//@{name})[position() <= {2 * _MOST_MARKED}]", smart_strings=False)
    for name in ("class", "id")
)
_MOST_PARTS = 20
"""Maximum number of parts of an article (``hasPart``) that are read."""
_MOST_LINES = 5000
"""Maximum number of elements that are searched for a subscription offer."""
_MOST_LETTERS = 60_000
"""Maximum number of letters that are searched for a subscription offer."""


def form_of(page: Page, title: str, text: str) -> Form:
    """Return the form of the text, judged by the page's structured data, URL, title and markup."""
    nodes = page.nodes.all
    if any(_is(node, _LIVE_TYPE) and node.get("liveBlogUpdate") is not None for node in nodes):
        return "live"
    # Reports on concerts also contain the word "live". So the word in the URL or in the title alone is not
    # enough. The word must be in both, or the page must also have many <time> elements.
    named = bool(compiled(_LIVE_PATH).search(page.parts.path)) + bool(compiled(_LIVE_TITLE).search(title))
    if len(page.times) >= _STAMPS and (named or _is_marked_live(page)):
        return "live"
    if named > 1:
        return "live"
    if is_gallery(page, title) and size(text) < _GALLERY_TEXT:
        return "gallery"
    return "article"


def is_gallery(page: Page, title: str) -> bool:
    """True for a page whose URL, structured data or title declare a gallery of pictures."""
    return (
        bool(compiled(_GALLERY_PATH).search(page.parts.path) or compiled(_GALLERY_TITLE).search(title))
        or any(_is(node, _GALLERY_TYPE) for node in page.nodes.all[:20])
    ) and _pictures(page) >= _GALLERY_PICTURES


def _is_marked_live(page: Page) -> bool:
    """True if at least _STAMPS of the page's ``<time>`` elements are in boxes named after a live blog."""
    marked = sum(
        any(
            _LIVE_NAME.search(f"{box.get('class') or ''} {box.get('id') or ''}"[:300])
            for box in islice(tag.element.iterancestors(), _BOXES_ABOVE)
            if box.tag != "body"
        )
        for tag in page.times[:_MOST_TIMES]
    )
    return marked >= _STAMPS


def is_partial(page: Page, text: str) -> bool:
    """Return True if ``text`` is only the part of the article that readers without a subscription get.

    A page may declare that it is not free and still contain all of its text. So there must also be a sign
    that text is missing: a declared word count that is much higher than the number of words in ``text``, or a
    short text before a subscription offer.
    """
    node = page.article or {}
    closed = _is_closed(node) or page.meta("article:content_tier").lower() in ("locked", "metered")
    stated = _word_count(node)
    # If the page declares a word count, only this count is checked. Sites count words differently, so a text
    # with at least 60 % of the declared number is complete.
    if closed and stated:
        return len(words(text)) < 0.6 * stated
    if size(text) > _TEASER:
        return False
    if closed:
        return True
    # Many sites offer subscriptions below complete texts, so the text must also end in "…" or have a paywall.
    return (bool(_CUT.search(text)) or _is_walled(page)) and _offers(page)


def _pictures(page: Page) -> int:
    """Return the number of pictures in figures, galleries and slides."""
    return sum(map(_is_shown, islice(page.tree.iter("img"), _MOST_PICTURES)))


def _is_shown(picture: HtmlElement) -> bool:
    return any(
        box.tag == "figure" or "gallery" in (named := box.get("class") or "") or "slide" in named
        for box in islice(picture.iterancestors(), _BOXES_ABOVE)
    )


def _is(node: Node, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(name) for name in types_of(node))


def _is_closed(node: Node) -> bool:
    """True if the node declares that the article is not free (``isAccessibleForFree``, https://schema.org).

    The value may be a boolean or a word.
    """
    value = node.get("isAccessibleForFree")
    if value is None:
        # In Google's example for paywalls, parts of the page also declare it, each with a CSS selector.
        parts = node.get("hasPart")
        value = next(
            (
                part["isAccessibleForFree"]
                for part in (parts if isinstance(parts, list) else [parts])[:_MOST_PARTS]
                if isinstance(part, dict) and "isAccessibleForFree" in part and part.get("cssSelector")
            ),
            None,
        )
    return value is False or scalar(value).strip().lower() in ("false", "no", "http://schema.org/false")


def _word_count(node: Node) -> int:
    stated = scalar(node.get("wordCount")).strip()[:9]
    return int(stated) if stated.isdecimal() else 0


def _offers(page: Page) -> bool:
    """True if a visible line asks the reader to subscribe in order to continue reading."""
    lines = page.tree.iter("p", "div", "span", "h2", "h3", "a", "button")
    left = _MOST_LETTERS
    for element in islice(lines, _MOST_LINES):
        # Only the text directly in the element is read. Otherwise the text of nested boxes would be searched
        # once for each box.
        said = f"{element.text or ''} {' '.join(child.tail or '' for child in element[:3])}"
        if size(said) > 10 and len(said) < 400:
            if compiled("%(paywalls)s").search(said):
                return True
            left -= len(said)
            if left < 0:
                return False
    return False


def _is_walled(page: Page) -> bool:
    # Most pages contain none of these words. Checking for the words is much faster than the regular
    # expression.
    joined = "\n".join(name for find in _ALL_NAMES for name in cast("list[str]", find(page.tree))).lower()
    if not any(word in joined for word in _WALL_WORDS):
        return False
    names = cast("list[str]", _NAMES(page.tree))
    return _WALL.search("\n".join(name[:300] for name in names[:_MOST_MARKED])) is not None
