"""The text of an article without a rule: the text of trafilatura, corrected by learned trees.

Trafilatura reads the page once, with its ``precision`` settings. Learned trees judge each piece of text
(:mod:`learned`); whether trafilatura took the piece is one of their features. If both texts are of the same
article, trafilatura's text is used, without what the trees surely reject and with what they surely miss.
Otherwise the text of the trees is used. No other extractor runs.
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
"""Elements of a page above which only density is used: the time of other methods grows faster than
the page.
"""
RELATED = 0.4
"""The least overlap of two texts of the same article (Dice's coefficient over pairs of words)."""
FOREIGN = -0.7
"""A block with a score below this (log odds) is removed from trafilatura's text."""
MISSING = 0.5
"""A piece with a score above this (log odds) that trafilatura's text lacks is added. Mostly this is the lead
above the paragraphs.
"""
_HARDLY_ANY = 100
"""Letters of a text; a shorter one is only a line or two around the article."""
_COUNT = etree.XPath("count(descendant-or-self::*)")

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # a crawler does not need its "discarding data"

_USELESS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "link", "meta", "button",
    "select", "figcaption", "input", "textarea", "dialog",
)  # fmt: skip


def generic_body(
    tree: HtmlElement, known: Known, removed: Collection[etree._Element] = ()
) -> tuple[list[Block], str]:
    """Return the blocks of the main text and the method that found them.

    Methods: ``trafilatura``, ``learned``, ``density``, ``none``. ``known`` is what the page states about the
    article. ``removed`` are the elements of ``tree`` that a rule removes. The tree itself is not changed.
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
    dense = tidy(densest(lean_copy(whole)))
    return dense, "density" if dense else "none"


def first_reading(lean: HtmlElement) -> list[Block]:
    """Return the blocks that trafilatura takes for the text.

    ``lean`` comes from :func:`lean_copy`. This function changes it, so it cannot be used again.
    """
    try:
        found = main_part(lean)
    except Exception:  # noqa: BLE001 - a fault of the library must not lose the page: others read it
        return []
    blocks = render([found]) if found is not None else []
    # A few words would mislead the trees.
    return blocks if sum(len(block.text) for block in blocks) >= _HARDLY_ANY else []


def _one_copy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` once if all long blocks occur twice: some pages repeat the text for print."""
    times = Counter(block.text for block in blocks if len(block.text) >= REPEATED)
    return list(dict.fromkeys(blocks)) if set(times.values()) == {2} else blocks


def _are_related(one: list[Block], other: list[Block]) -> bool:
    """True for texts of the same article. Most of them share whole lines, which is checked first because it
    is faster.
    """
    lines = [Counter({block.text: len(block.text) for block in blocks}) for blocks in (one, other)]
    return _common(*lines) >= RELATED or _common(word_pairs(join(one)), word_pairs(join(other))) >= RELATED


def _common(one: Counter[Any], other: Counter[Any]) -> float:
    """Dice's coefficient, 0 to 1."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def lean_copy(tree: HtmlElement) -> HtmlElement:
    """Return a copy of a page without elements that are not text and without lines that only link
    elsewhere.
    """
    lean = copy(tree)
    for element in pointers(lean):
        element.tag = "script"
    etree.strip_elements(lean, *_USELESS, with_tail=False)
    return lean


def _copy_without(tree: HtmlElement, removed: Collection[etree._Element]) -> HtmlElement:
    whole = copy(tree)
    numbers = [index for index, element in enumerate(tree.iter()) if element in removed]
    elements = list(whole.iter())
    for index in numbers:
        elements[index].tag = "script"  # extractors ignore scripts
    return whole


_OPTIONS = Extractor(output_format="python", fast=True, precision=True, comments=False)


def main_part(tree: HtmlElement) -> etree._Element | None:
    """Return the main part of a page with trafilatura's element names, or None if it contains no text.

    ``tree`` is changed and cannot be used again. :func:`trafilatura.bare_extraction` with ``fast`` does the
    same, but it keeps copies of the page for later stages that are never reached with ``precision``. The
    XPath searches are answered by :mod:`local_search`, in a private copy of trafilatura's module.
    """
    _prune(tree, (*xpaths.RAW_TREE_PRUNE_XPATH, *xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH))
    tree = htmlprocessing.convert_tags(htmlprocessing.tree_cleaning(tree, _OPTIONS), _OPTIONS)
    _prune(tree, xpaths.REMOVE_COMMENTS_XPATH)
    body, text = _own_extractor().extract_content(tree, _OPTIONS)
    return body if len(text) >= _OPTIONS.min_output_size else None


def _prune(tree: HtmlElement, searches: Sequence[etree.XPath], with_backup: bool = False) -> HtmlElement:
    """Remove the elements that the searches find, with everything below them."""
    return htmlprocessing.prune_unwanted_nodes(tree, _together(tuple(searches)), with_backup)


@cache
def _together(searches: tuple[etree.XPath, ...]) -> Any:
    quick = [quicker(search) for search in searches]
    try:
        return [JointSearch(quick)] if len(quick) > 1 else quick
    except ValueError:
        return quick


@cache
def _own_extractor() -> Any:
    """Return a copy of the module of trafilatura's main extractor whose searches are replaced by
    :func:`quicker`.
    """
    spec = find_spec("trafilatura.main_extractor")
    if spec is None or spec.loader is None:
        raise ImportError("trafilatura has no main_extractor: another version is needed")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BODY_XPATH = [quicker(search) for search in xpaths.BODY_XPATH]
    module.prune_unwanted_nodes = _prune
    return module
