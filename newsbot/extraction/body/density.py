"""Finds the main text of a page by the density of its words, in linear time."""

from __future__ import annotations

from collections import defaultdict

from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.blocks import Block, render
from newsbot.extraction.strings import word_set

_INLINE = word_set(
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd label mark q s samp small span strike strong "
    "sub sup time tt u var wbr br"
)
_SKIPPED = word_set(
    "script style noscript template svg head title nav footer button select option textarea aside header menu"
)
_LEAST = 25
"""Minimum number of letters of a paragraph."""


def densest(tree: HtmlElement) -> list[Block]:
    """Return the blocks of the element whose children contain most prose.

    Text in links lowers the score of an element.
    """
    prose, linked = _own_text(tree)
    scores: dict[etree._Element, float] = defaultdict(float)
    for block, length in prose.items():
        worth = length - 2 * linked.get(block, 0)
        parent = block.getparent()
        if worth < _LEAST or parent is None:
            continue
        # Some sites divide their paragraphs by <br> only, so the whole text is in one block.
        scores[block] += worth * 0.6 if length > 400 else 0.0
        scores[parent] += worth
        # The grandparent gets a smaller part of the score. It may contain the sections of one text, but also
        # all teasers of the page.
        above = parent.getparent()
        if above is not None:
            scores[above] += worth * 0.6
    if not scores:
        return []
    return render([max(scores, key=lambda element: scores[element])])


def concentration(tree: HtmlElement, length: int) -> tuple[float, float]:
    """Return two numbers: the letters of prose in the element with most prose, and their share of ``length``.

    ``length`` is the length of the page's text in letters. The paragraphs of an article are siblings, so the
    share is high. Each teaser of a front page is in its own box, so the share is low.
    """
    prose, linked = _own_text(tree)
    sums: dict[etree._Element, float] = defaultdict(float)
    for block, own in prose.items():
        worth = own - 2 * linked.get(block, 0)
        parent = block.getparent()
        if worth >= _LEAST and parent is not None:
            sums[parent] += worth
            sums[block] += worth if own > 300 else 0.0  # paragraphs that are divided by <br> only
    most = max(sums.values(), default=0.0)
    return most, most / max(length, 1)


def headline_links(tree: HtmlElement) -> int:
    """Return the number of links that look like headlines. Each URL counts once.

    Such a link has at least four words and 25 letters and is not part of a sentence.
    """
    seen: set[str] = set()
    for link in tree.iter("a"):
        href = link.get("href")
        if not href or href in seen or href.startswith(("#", "javascript:", "mailto:")):
            continue
        text = "".join(link.itertext())
        if len(text) >= 25 and len(text.split()) >= 4 and not _in_sentence(link):
            seen.add(href)
    return len(seen)


def _in_sentence(link: etree._Element) -> bool:
    """True for a link with other text before or after it in the same element."""
    parent = link.getparent()
    beside = len((link.tail or "").strip())
    return beside > 15 or (
        parent is not None and parent.tag in ("p", "span") and len((parent.text or "").strip()) > 15
    )


def _own_text(tree: HtmlElement) -> tuple[dict[etree._Element, int], dict[etree._Element, int]]:
    """Return two dictionaries by block element: the length of its own text, and how much of it is in links.

    Text in inline elements belongs to the block element around them.
    """
    prose: dict[etree._Element, int] = defaultdict(int)
    linked: dict[etree._Element, int] = defaultdict(int)
    walker = etree.iterwalk(tree, events=("start", "end"))
    blocks: list[etree._Element] = [tree]
    links = 0
    for event, element in walker:
        name = element.tag
        if event == "start":
            if name in _SKIPPED:
                walker.skip_subtree()  # the end event still comes and counts the tail
                continue
            if name not in _INLINE:
                blocks.append(element)
            links += name == "a"
            length = len(element.text or "")
        else:
            if name not in _INLINE and name not in _SKIPPED:
                blocks.pop()
            links -= name == "a"
            length = len(element.tail or "")
        if length > 1:
            prose[blocks[-1]] += length
            if links:
                linked[blocks[-1]] += length
    return prose, linked
