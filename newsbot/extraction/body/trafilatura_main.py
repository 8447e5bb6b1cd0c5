"""Trafilatura's main extractor alone, set to precision: the first and cheap reading of a page.

:func:`trafilatura.bare_extraction` with ``fast`` does the same and keeps copies of the page for later stages
that precision never reaches. The searches are answered from memory (:mod:`localsearch`), in a copy of the
module that nobody else sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec
from typing import Any

from lxml import etree
from lxml.html import HtmlElement
from trafilatura import htmlprocessing, xpaths
from trafilatura.settings import Extractor

from newsbot.extraction.body.local_search import JointSearch, quicker

_OPTIONS = Extractor(output_format="python", fast=True, precision=True, comments=False)


def main_part(tree: HtmlElement) -> etree._Element | None:
    """Return the main part of a page in trafilatura's names of elements, None if it is no text.

    ``tree`` is used up.
    """
    _prune(tree, (*xpaths.RAW_TREE_PRUNE_XPATH, *xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH))
    tree = htmlprocessing.convert_tags(htmlprocessing.tree_cleaning(tree, _OPTIONS), _OPTIONS)
    _prune(tree, xpaths.REMOVE_COMMENTS_XPATH)
    body, text = _own_extractor().extract_content(tree, _OPTIONS)
    return body if len(text) >= _OPTIONS.min_output_size else None


def _prune(tree: HtmlElement, searches: Sequence[etree.XPath], with_backup: bool = False) -> HtmlElement:
    """Take out what the searches find. What one finds in what another has taken out is gone with it."""
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
    """A copy of the module of trafilatura's main extractor that searches by :func:`quicker`."""
    spec = find_spec("trafilatura.main_extractor")
    if spec is None or spec.loader is None:
        raise ImportError("trafilatura has no main_extractor: another version is needed")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BODY_XPATH = [quicker(search) for search in xpaths.BODY_XPATH]
    module.prune_unwanted_nodes = _prune
    return module
