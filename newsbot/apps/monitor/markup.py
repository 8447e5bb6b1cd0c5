"""Finds faults in the markup of a page.

libxml2 reports the faults that it has to repair, such as tags that are not closed. The other faults are what
search engines and browsers complain about.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from lxml import etree

from newsbot.pages.extraction.strings import squash
from newsbot.pages.extraction.verdict import is_error

ERRORS, NO_TITLE, NO_DESCRIPTION, NO_LANGUAGE, MIXED, ERROR_PAGE = FAULTS = (
    "errors",
    "no_title",
    "no_description",
    "no_language",
    "mixed_content",
    "error_page",
)
MEANING: Final = {
    ERRORS: "errors in the markup",
    NO_TITLE: "no title",
    NO_DESCRIPTION: "no description",
    NO_LANGUAGE: "no language",
    MIXED: "http parts of an https page",
    ERROR_PAGE: "an error message with status 200",
}
"""The faults in words."""
MOST_ERRORS = 100
"""Maximum number of errors of libxml2 that are counted for a page."""
MAX_CHARACTERS = 2_000_000
"""Number of characters of a page that are checked."""
_NEW_TAG = 801
"""libxml2 does not know the elements of HTML 5, and reports each as an error (``HTML_UNKNOWN_TAG``)."""
_MOST_TEXTS, _LONGEST = 100, 500
"""Number of texts and of characters of a title that are read."""
_PARTS = ("script", "img", "iframe", "audio", "video", "source", "track", "embed")
"""Elements whose ``src`` the browser loads into the page."""


def faults_in(html: str, url: str) -> Counter[str]:
    """Return the number of faults of each kind in :data:`FAULTS` on a page with status 200.

    The function may run in any thread, and raises no exception for any text.
    """
    parser = etree.HTMLParser(recover=True, encoding="utf-8")
    found = Counter[str]()
    try:
        tree = etree.fromstring(html[:MAX_CHARACTERS].encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        tree = None
    errors = sum(error.type != _NEW_TAG for error in parser.error_log)
    found[ERRORS] = min(errors, MOST_ERRORS)
    if tree is None:
        return +found
    title = _first(tree, "title")
    found[NO_TITLE] = int(not title)
    found[NO_DESCRIPTION] = int(not any(map(_describes, tree.iter("meta"))))
    found[NO_LANGUAGE] = int(not (tree.get("lang") or tree.get("xml:lang") or "").strip())
    if urlsplit(url).scheme == "https":
        found[MIXED] = _mixed(tree)
    found[ERROR_PAGE] = int(is_error(title) or is_error(_first(tree, "h1")))
    return +found


def _describes(meta: etree._Element) -> bool:
    name = (meta.get("name") or meta.get("property") or "").strip().lower()
    return name in ("description", "og:description") and bool((meta.get("content") or "").strip())


def _first(tree: etree._Element, name: str) -> str:
    """Return the text of the first element with this name as one line."""
    element = next(tree.iter(name), None)
    return (
        ""
        if element is None
        else squash("".join(map(str, islice(element.itertext(), _MOST_TEXTS)))[:_LONGEST])
    )


def _mixed(tree: etree._Element) -> int:
    loaded = [one.get("src") for one in tree.iter(*_PARTS)]
    loaded += [one.get("data") for one in tree.iter("object")]
    loaded += [one.get("action") for one in tree.iter("form")]
    loaded += [
        one.get("href") for one in tree.iter("link") if "stylesheet" in (one.get("rel") or "").lower().split()
    ]
    return sum((address or "").strip().lower().startswith("http://") for address in loaded)


def written(found: Counter[str]) -> str:
    """Return faults as the text that is stored with a check: ``errors:3 no_title:1``."""
    return " ".join(f"{name}:{found[name]}" for name in FAULTS if found[name])


def read(text: str) -> dict[str, int]:
    """Return the faults in a stored text. Unknown words are left out."""
    pairs = (word.partition(":") for word in text.split())
    return {name: int(number) for name, _, number in pairs if name in FAULTS and number.isdecimal()}
