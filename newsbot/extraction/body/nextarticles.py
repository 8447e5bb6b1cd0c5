"""Whole articles that a page holds below its own, for readers who scroll on."""

from __future__ import annotations

from lxml.html import HtmlElement

from newsbot.extraction.form import form_of
from newsbot.extraction.page import Page, text_of
from newsbot.extraction.strings import key, size

MAX_HEADLINES = 10
_LEAST = 600
"""Letters that the page's own article must have: a shorter one may be the box of a teaser."""


def next_articles(page: Page) -> frozenset[HtmlElement]:
    """Return the ``<article>`` elements below the page's own that have a first heading of their own.

    Nothing is returned unless the first heading is the title of the page and lies in an ``<article>``.
    """
    if len(page.h1) < 2:
        return frozenset()
    headline, own = key(text_of(page.h1[0])), _holder(page.h1[0])
    titled = key(page.title_tag or page.meta("og:title"))
    if own is None or not headline or not titled.startswith(headline) or size(text_of(own)) < _LEAST:
        return frozenset()
    if form_of(page, page.title_tag, "") == "live":  # its entries are articles with headings, too
        return frozenset()
    holders = ((_holder(element), key(text_of(element))) for element in page.h1[1:MAX_HEADLINES])
    return frozenset(
        holder
        for holder, words in holders
        if holder is not None and words not in ("", headline) and not _nested(holder, own)
    )


def _holder(element: HtmlElement) -> HtmlElement | None:
    return next(element.iterancestors("article"), None)


def _nested(one: HtmlElement, other: HtmlElement) -> bool:
    return one is other or other in one.iterancestors() or one in other.iterancestors()
