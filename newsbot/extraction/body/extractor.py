"""Finds the text of an article without a rule, by trafilatura and learned trees.

Trafilatura (https://trafilatura.readthedocs.io) reads the page once, with its ``precision`` settings. A piece
is a run of text between line breaks. Decision trees give each piece a score (:mod:`learned`). One of their
features is whether trafilatura took the piece.

If both found the same article, trafilatura's text is used. Pieces with a very low score are removed from this
text, and pieces with a high score are added. If they found different texts, the text of the trees is used.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from copy import copy
from functools import cache
from importlib.util import find_spec, module_from_spec
from typing import Any

from lxml import etree
from lxml.html import HtmlElement
from trafilatura import htmlprocessing, xpaths
from trafilatura.settings import Extractor

from newsbot.extraction.blocks import Block, join, render
from newsbot.extraction.body.density import densest
from newsbot.extraction.body.learned import REPEATED, judge, word_pairs
from newsbot.extraction.body.local_search import JointSearch, quicker
from newsbot.extraction.body.tidy import pointers, tidy
from newsbot.extraction.body.word_features import Known

MAX_ELEMENTS = 10_000
"""Maximum number of elements of a page that trafilatura and the trees read.

Their time grows faster than the page. Larger pages are read by :mod:`density`, in linear time.
"""
RELATED = 0.4
"""Minimum overlap with which two texts count as the same article (Dice's coefficient, 0 to 1)."""
FOREIGN = -0.7
"""Score (log odds) at or below which a block is removed from trafilatura's text."""
MISSING = 0.5
"""Score (log odds) above which a piece is added to trafilatura's text. Usually it is a missing lead."""
_HARDLY_ANY = 100
"""Minimum length of trafilatura's text. A shorter text is only a line or two from around the article."""
_COUNT = etree.XPath("count(descendant-or-self::*)")

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs each page without a text

_USELESS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "link", "meta", "button",
    "select", "figcaption", "input", "textarea", "dialog",
)  # fmt: skip


def generic_body(
    tree: HtmlElement, known: Known, removed: Collection[etree._Element] = ()
) -> tuple[list[Block], str]:
    """Return the blocks of the main text and the method that found them.

    The methods are ``trafilatura``, ``learned``, ``density`` and ``none``. ``known`` is what the page states
    about its article outside of the text. ``removed`` are elements that are not read. ``tree`` is not
    changed.
    """
    whole = _copy_without(tree, removed) if removed else tree
    lean = lean_copy(whole)
    elements = _COUNT(lean)
    if isinstance(elements, float) and elements > MAX_ELEMENTS:
        return tidy(densest(lean)), "density"
    found = first_reading(lean)
    judged = judge(whole, known, join(found))
    first, learned = tidy(_one_copy(found)), tidy(judged.blocks())
    if first and (not learned or _are_related(first, learned)):
        kept = judged.without_foreign(first, FOREIGN) or first
        return tidy(judged.with_missing(kept, MISSING)), "trafilatura"
    if learned:
        return learned, "learned"
    dense = tidy(densest(lean_copy(whole)))  # a new copy, because trafilatura has changed the first one
    return dense, "density" if dense else "none"


def first_reading(lean: HtmlElement) -> list[Block]:
    """Return the blocks that trafilatura takes for the text.

    ``lean`` comes from :func:`lean_copy`. This function changes it, so it cannot be used again.
    """
    try:
        found = main_part(lean)
    except Exception:  # noqa: BLE001 - the page is not lost if the library fails, because the trees read it too
        return []
    blocks = render([found]) if found is not None else []
    # A few words would mislead the trees.
    return blocks if sum(len(block.text) for block in blocks) >= _HARDLY_ANY else []


def _one_copy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without repetitions if every long block occurs exactly twice.

    Some pages contain the whole text a second time, for printing.
    """
    times = Counter(block.text for block in blocks if len(block.text) >= REPEATED)
    return list(dict.fromkeys(blocks)) if set(times.values()) == {2} else blocks


def _are_related(one: list[Block], other: list[Block]) -> bool:
    """True if the two texts are of the same article."""
    # Most texts of the same article share whole lines. Comparing lines is faster, so it comes first.
    lines = [Counter({block.text: len(block.text) for block in blocks}) for blocks in (one, other)]
    return _common(*lines) >= RELATED or _common(word_pairs(join(one)), word_pairs(join(other))) >= RELATED


def _common(one: Counter[Any], other: Counter[Any]) -> float:
    """Return Dice's coefficient of two multisets, 0 to 1."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def lean_copy(tree: HtmlElement) -> HtmlElement:
    """Return a copy of a page without elements that are not text and lines that are only links."""
    lean = copy(tree)
    # They are renamed to "script". strip_elements() then removes them, and keeps the text after them.
    for element in pointers(lean):
        element.tag = "script"
    etree.strip_elements(lean, *_USELESS, with_tail=False)
    return lean


def _copy_without(tree: HtmlElement, removed: Collection[etree._Element]) -> HtmlElement:
    """Return a copy of ``tree`` in which the ``removed`` elements are renamed, so that they are not read."""
    whole = copy(tree)
    # The copy has other element objects, so its elements are found by their number in document order.
    numbers = [index for index, element in enumerate(tree.iter()) if element in removed]
    elements = list(whole.iter())
    for index in numbers:
        elements[index].tag = "script"  # extractors ignore scripts
    return whole


_OPTIONS = Extractor(output_format="python", fast=True, precision=True, comments=False)


def main_part(tree: HtmlElement) -> etree._Element | None:
    """Return the main part of a page with trafilatura's element names, or None if it contains no text.

    ``tree`` is changed and cannot be used again. The result is that of :func:`trafilatura.bare_extraction`
    with ``fast``. But that function copies the page for later steps, which never run with ``precision``. Here
    the page is not copied, and :mod:`local_search` does the XPath searches.
    """
    _prune(tree, (*xpaths.RAW_TREE_PRUNE_XPATH, *xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH))
    tree = htmlprocessing.convert_tags(htmlprocessing.tree_cleaning(tree, _OPTIONS), _OPTIONS)
    _prune(tree, xpaths.REMOVE_COMMENTS_XPATH)
    body, text = _own_extractor().extract_content(tree, _OPTIONS)
    return body if len(text) >= _OPTIONS.min_output_size else None


def _prune(tree: HtmlElement, searches: Sequence[etree.XPath], with_backup: bool = False) -> HtmlElement:
    """Remove the elements that the searches find, and everything inside them."""
    return htmlprocessing.prune_unwanted_nodes(tree, _together(tuple(searches)), with_backup)


@cache
def _together(searches: tuple[etree.XPath, ...]) -> Any:
    quick = [quicker(search) for search in searches]
    # trafilatura runs one search after the other, and removes the elements found before the next search. But
    # the searches do not depend on what was removed, so one walk can find the elements for all of them.
    try:
        return [JointSearch(quick)] if len(quick) > 1 else quick
    except ValueError:
        return quick


@cache
def _own_extractor() -> Any:
    """Return a private copy of trafilatura's main extractor with the searches of :func:`quicker`.

    Other users of trafilatura in the same process keep the original module. Raises ``ImportError`` if the
    installed version has no such module.
    """
    spec = find_spec("trafilatura.main_extractor")
    if spec is None or spec.loader is None:
        raise ImportError("this version of trafilatura is not supported: it has no main_extractor")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BODY_XPATH = [quicker(search) for search in xpaths.BODY_XPATH]
    module.prune_unwanted_nodes = _prune
    return module
