"""The text of an article where no rule gives it: one extractor, checked, and a vote of three in doubt.

Trafilatura reads the page first. Learned trees judge each piece of text (:mod:`learned`), with what
trafilatura took as one clue among others. Where both agree, its text stands, without what the trees
surely take for foreign and with what they surely miss. Where they do not, and the densest box holds far more,
trafilatura reads the page again with care, and if even that stops early, the text of the trees stands. Where
that too is another text, readability reads the page, and the text wins that has most in common with the two
others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from copy import copy

import trafilatura
from lxml import etree
from lxml.html import HtmlElement, fromstring, tostring
from readability import Document

from newsbot.extraction.blocks import Block, join, render
from newsbot.extraction.body.density import densest
from newsbot.extraction.body.learned import Judged, judge, word_pairs
from newsbot.extraction.body.tidy import pointers, tidy
from newsbot.extraction.body.trafilatura_main import main_part
from newsbot.extraction.body.word_features import Known

logging.getLogger("readability").setLevel(logging.CRITICAL)  # a page that it cannot read is no news


def readable(tree: HtmlElement) -> list[Block]:
    """Return the blocks that readability takes for the article, empty if none; the tree stays as it is."""
    try:
        # It reads the page anew when its first try finds little, so it gets markup, not a tree to spoil.
        found = Document(tostring(tree, encoding="unicode")).summary(html_partial=True)
    except Exception:  # noqa: BLE001 - a fault of the library costs one vote, not the page
        return []
    try:
        return render([fromstring(found)])
    except (etree.ParserError, ValueError, AssertionError):  # nothing was left
        return []


MAX_ELEMENTS = 12_000
"""Larger pages are read by density alone: the time of others grows faster than the page."""
MAX_VOTE_ELEMENTS = 6_000
MAX_VOTE_LETTERS = 500_000
"""Larger pages get no vote, and trafilatura reads them once."""

SAME = 0.9
"""What two texts have in common (Dice's coefficient over pairs of words) if no second look is needed."""
AGREED = 0.75
"""… so much that a text needs no vote."""
FOREIGN = -0.7
"""What is judged below (log odds) goes out of a text that is agreed on."""
MISSING = 0.5
"""What is judged above, and stands in no such text, goes in: mostly the lead above the paragraphs."""
SURELY_MISSING = 1.5
"""The same for a text that is agreed on at the second look only."""
_LEAST_SHARE = 0.5
"""A text that wins by votes but is so much shorter than the first one (each line once) loses."""
_HARDLY_ANY = 100
"""Letters; less is a line or two of the frame of the page."""
_COUNT = etree.XPath("count(descendant-or-self::*)")
_LETTERS = etree.XPath("string-length(.)")
_DOUBT = 1.4
"""The precise text is doubted where the densest container holds so much more."""
_FULLER = 1.5

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # "discarding data" is no news to a crawler

_USELESS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "video", "audio", "canvas",
    "link", "meta", "button",
    "select", "figcaption", "input", "textarea", "dialog",
)  # fmt: skip


Clean = Callable[[list[Block]], list[Block]]
"""Takes out of a text what is known to be foreign."""


def generic_body(
    tree: HtmlElement, known: Known, removed: Collection[etree._Element] = (), clean: Clean = tidy
) -> tuple[list[Block], str]:
    """Return the blocks of the main text and the method that found them.

    Methods: ``trafilatura``, ``trafilatura-full``, ``learned``, ``readability``, ``density``, ``none``.
    ``known`` is what the page says of the article. ``removed`` are elements of ``tree`` that a rule takes
    out; ``clean`` is applied to each text before texts are compared. The tree itself is not changed.
    """
    whole = _copy_without(tree, removed) if removed else tree
    lean = _without_useless(copy(whole))
    size = _number(_COUNT, lean)
    if size > MAX_ELEMENTS:
        return clean(densest(lean)), "density"
    found = _quick(lean)  # it uses the copy up: most pages need no other
    judged = judge(whole, known, join(found))
    quick, learned = clean(found), clean(judged.blocks())
    if quick and (_share_lines(quick, learned) >= SAME or agreement(quick, learned) >= SAME):
        kept = judged.without_foreign(quick, FOREIGN) or quick
        return clean(judged.with_missing(kept, MISSING)), "trafilatura"
    lean = _without_useless(copy(whole))
    first, method = _first(lean, found)
    first = clean(first)
    if learned and method == "trafilatura-full":
        return learned, "learned"
    if not learned or (first and agreement(first, learned) >= AGREED):
        kept = judged.without_foreign(first, FOREIGN) or first
        return clean(judged.with_missing(kept, SURELY_MISSING)), method
    others = [(learned, "learned")]
    if size <= MAX_VOTE_ELEMENTS and _number(_LETTERS, lean) <= MAX_VOTE_LETTERS:
        others.append((clean(readable(lean)), "readability"))
    return _vote(judged, (first, method), others)


def _vote(
    judged: Judged, first: tuple[list[Block], str], others: list[tuple[list[Block], str]]
) -> tuple[list[Block], str]:
    """The text that agrees most with the others; the first of equals, and where the winner is far shorter."""
    texts = [first, *others]
    pairs = [_pairs(blocks) for blocks, _ in texts]
    votes = [sum(_common(one, other) for other in pairs if other is not one) for one in pairs]
    winner = max(range(len(texts)), key=lambda index: votes[index])
    if winner and _length(texts[winner][0]) >= _LEAST_SHARE * _length(dict.fromkeys(first[0])):
        blocks, method = texts[winner]
        return judged.without_foreign(blocks, FOREIGN) or blocks, method
    return judged.without_foreign(first[0], FOREIGN) or first[0], first[1]


def first_text(lean: HtmlElement) -> str:
    """Return the text that the learned trees are shown; ``lean`` is from :func:`lean_copy`."""
    return join(_quick(copy(lean)))


def _quick(lean: HtmlElement) -> list[Block]:
    """What trafilatura takes for the text at once; ``lean`` is used up."""
    try:
        found = main_part(lean)
    except Exception:  # noqa: BLE001 - a fault of the library must not lose the page: others read it
        return []
    blocks = render([found]) if found is not None else []
    return blocks if _length(blocks) >= _HARDLY_ANY else []  # a few words would mislead the trees


def lean_copy(tree: HtmlElement, removed: Collection[etree._Element]) -> HtmlElement:
    """Return a copy without what is no text, so that an extractor's own copies cost little."""
    return _without_useless(_copy_without(tree, removed))


def _first(lean: HtmlElement, quick: list[Block]) -> tuple[list[Block], str]:
    """What trafilatura takes for the text: with care only where ``quick`` is nothing or far from all."""
    dense = densest(lean)
    if quick and _length(dense) <= _DOUBT * _length(quick):
        return quick, "trafilatura"
    if _number(_LETTERS, lean) > MAX_VOTE_LETTERS:
        return dense, "density"
    blocks = _trafilatura(lean)
    if not blocks:
        return (dense, "density") if dense else ([], "none")
    if _length(dense) > _DOUBT * _length(blocks):  # a precise extractor stops early on some pages
        fuller = _trafilatura(lean, precise=False, fast=True)
        if _length(fuller) > _FULLER * _length(blocks) and agreement(fuller, dense) > agreement(
            blocks, dense
        ):
            return fuller, "trafilatura-full"
    return blocks, "trafilatura"


def _trafilatura(lean: HtmlElement, *, precise: bool = True, fast: bool = False) -> list[Block]:
    try:
        document = trafilatura.bare_extraction(
            lean,
            favor_precision=precise,
            fast=fast,
            include_comments=False,
            include_images=False,
            include_links=False,
            with_metadata=False,
        )
    except Exception:  # noqa: BLE001 - a fault of the library must not lose the page: others read it
        return []
    return render([document.body]) if document is not None and not isinstance(document, dict) else []


def agreement(one: list[Block], other: list[Block]) -> float:
    """Return how much two texts have in common, 0 to 1: Dice's coefficient over pairs of words."""
    return _common(_pairs(one), _pairs(other))


def _share_lines(one: list[Block], other: list[Block]) -> float:
    """A quick form of :func:`agreement` that knows whole lines only; never much above it."""
    shared = Counter(block.text for block in one) & Counter(block.text for block in other)
    letters = sum(len(text) * times for text, times in shared.items())
    return 2 * letters / ((_length(one) + _length(other)) or 1)


def _common(left: Counter[tuple[str, str]], right: Counter[tuple[str, str]]) -> float:
    total = sum(left.values()) + sum(right.values())
    return 2 * sum((left & right).values()) / total if total else 0.0


def _pairs(blocks: list[Block]) -> Counter[tuple[str, str]]:
    return word_pairs(join(blocks))


def _length(blocks: Iterable[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _copy_without(tree: HtmlElement, removed: Collection[etree._Element]) -> HtmlElement:
    whole = copy(tree)
    if removed:
        numbers = [index for index, element in enumerate(tree.iter()) if element in removed]
        elements = list(whole.iter())
        for index in numbers:
            elements[index].tag = "script"  # no extractor looks at those
    return whole


def _without_useless(lean: HtmlElement) -> HtmlElement:
    for element in pointers(lean):
        element.tag = "script"
    etree.strip_elements(lean, *_USELESS, with_tail=False)
    return lean


def _number(count: etree.XPath, tree: HtmlElement) -> int:
    found = count(tree)
    return int(found) if isinstance(found, float) else 0
