"""Cuts a page into pieces: runs of text between line breaks, each with the box of markup around it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.extraction.visible import (
    KINDS,
    PHRASING,
    SENTENCES,
    Block,
    Hidden,
    Kind,
    is_for_screen_readers,
    is_in_sentence,
)
from newsbot.pages.text.words import preformatted, resolved, squash, word_list, word_set

MAX_PIECES = 4000
"""Maximum number of pieces of a page. The longest real articles have about 1,000."""

TAGS = (
    "p", "li", "div", "td", "span", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "th", "dt", "dd", "pre",
    "section", "article", "figcaption", "center", "body",
)  # fmt: skip
OTHER_TAG = 30
"""The number of every tag that is not in :data:`TAGS`.

The number of any other tag is its place in :data:`TAGS`.
"""
REGIONS = (
    "article", "main", "aside", "nav", "footer", "header", "figure", "figcaption", "form", "table", "ul",
    "blockquote", "section", "hidden",
)  # fmt: skip
"""Names of elements. Each box records which of these elements it is in. "hidden" stands for any hidden
element."""
SUBJECTS = {
    "comment": word_list(
        "comment disqus discuss reply replies respond trackback pingback talkback koment komment coment",
        "^opini[ei]s?$ ^reacties?$ ^yorum otzyv otziv hozzaszol diskuse diskusjon diskussion pinglun sxolia",
    ),
    "share": word_list("share sharing social follow facebook twitter like vote rating"),
    "related": word_list(
        "relat recommend more also popular trend teaser promo outbrain taboola similar readmore most",
        "latest next other recirc listing feed card linkbox suggest stories viral mgid criteo zergnet",
        "headlines",
    ),
    "foot": word_list("foot copyright legal disclaim bottom contacts? contentinfo"),
    "nav": word_list("nav menu breadcrumb topbar toolbar pagination pager masthead"),
    "side": word_list("side widget rail aside column right left col complementary"),
    "ad": word_list("^ads?$ advert sponsor banner adv dfp gpt commerc shop buy price affili"),
    "meta": word_list(
        "byline author meta date time info credit source publish posted writer avtor bio agency"
    ),
    "media": word_list(
        "caption figure photo image img gallery media video embed audio player pic slide carousel foto ",
        "credit copyright",
    ),
    "tag": word_list("^tags?$ topic keyword label categor section rubric"),
    "subscribe": word_list(
        "newsletter subscri signup paywall login register cookie consent modal popup overlay premium",
        "piano donat notif alert gdpr download app regwall metered offer message",
    ),
    "consent": word_list(
        "cookie consent onetrust optanon cmp gdpr ccpa privacy didomi usercentrics dialog modal"
    ),
    "title": word_list("title headline heading header kicker"),
    "lead": word_list(
        "summary lead lede standfirst intro deck dek subtitle description excerpt abstract teaser chapo",
        "anons",
    ),
    "points": word_list("keypoint takeaway highlight bullet fact"),
    "article": word_list("article story post entry news single detail"),
    "body": word_list("body content text paragraph main copy rich wysiwyg prose txt"),
    "hidden": word_list("hidden hide sr visually screen print tooltip dropdown collapse"),
    "quote": word_list("quote pull box factbox info embed tweet insta blockquote"),
    "main_text": word_list(
        r"(?:article|post|entry|story|news|page|single|main|art|full)[-_\s]{0,2}(?:body|text|content|copy|detail)"
    ),
    "sidebar": word_list("sidebar complementary"),
    "cookies": word_list("cookie consent onetrust optanon gdpr ccpa didomi usercentrics"),
}
"""Subjects of a box, with patterns for the words in its ``class``, ``id``, ``role`` and ``itemprop``.

Programmers use these words in markup, whatever the language of the page is.
"""

_SKIPPED = word_set(
    "script style noscript template svg head iframe object embed video audio canvas link meta select option",
    "input textarea math map dialog",
)
_NO_TEXT = ("form", "nav", "figcaption", "aside", "title", "img", "picture", "source", "menu")
"""Elements that are not part of a text that is rendered as it is."""
_MOVING = frozenset({"iframe", "video", "object", "embed"})
_STRONG = frozenset({"b", "strong", "em", "i"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PLAIN = PHRASING - _STRONG - {"a", "button"}
"""Elements that change only the look of words. They do not matter for the pieces."""
_NAMES = ("class", "id", "itemprop", "role", "data-testid", "data-component")
# the words of "article-body", "articleBody" and "ARTICLE_body"
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_HIDDEN = re.compile(r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden", re.IGNORECASE)
_PATTERNS = tuple(re.compile("|".join(parts)) for parts in SUBJECTS.values())
_MAIN_TEXT = list(SUBJECTS).index("main_text")
_TAG_NUMBERS = {name: number for number, name in enumerate(TAGS)}
_REGION_BITS = {name: 1 << number for number, name in enumerate(REGIONS)}
_IS_HIDDEN = _REGION_BITS["hidden"]
IS_NOTE = 1 << len(REGIONS)
"""The bit of boxes about the author, and of notes that appear when the reader points at a name."""
_NOTE = re.compile(
    r"\b(?:author[\s_-]?(?:bio|box|card|about|profile|desc\w*)|about[\s_-]?(?:the[\s_-]?)?author|bio|tooltip"
    r"|pop-?(?:up|over)|newsletter[\w-]{0,20}|sign-?up)\b(?!-)",
    re.IGNORECASE,
)
_LEAST_ALT = 15
_EMOJI = re.compile(
    "[\u200d\u20e3\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff#*0-9]{1,12}(?<![0-9#*])"
)
"""Matches the description of a picture that stands for an emoji."""
_DEEP = 255
"""From this depth on, the subjects of boxes are not counted, because a count has one byte."""
_MOST_ATTRIBUTES = 300
"""Maximum number of characters of a box's names that are read."""


@dataclass(slots=True)
class Boxes:
    """The block elements with text, as columns. The number of a box is its place in each list.

    A box comes after its parent. The first box is ``body``, which is its own parent.
    """

    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)
    """Bits of :data:`REGIONS` for the box and all boxes around it."""
    around: list[int] = field(default_factory=list)
    """Number of boxes that name a subject, one byte per subject. The box itself and all boxes around it are
    counted."""
    kinds: list[str] = field(default_factory=list)
    """The end of the path of tags and names that leads to the box. Similar boxes have equal values."""


@dataclass(slots=True)
class Pieces:
    """The pieces of a page in order, as columns with one entry per piece."""

    texts: list[str] = field(default_factory=list)
    boxes: list[int] = field(default_factory=list)
    """Numbers of the innermost boxes around the pieces."""
    linked: list[int] = field(default_factory=list)
    """Number of characters in links, at most the length of the text."""
    strong: list[int] = field(default_factory=list)
    """Number of characters in bold or italics, at most the length of the text."""
    links: list[int] = field(default_factory=list)
    broken: list[bool] = field(default_factory=list)
    """True if ``<br>`` precedes the piece."""
    pictures: list[int] = field(default_factory=list)
    """Number of pictures and videos between the previous piece and this one."""
    alts: list[str] = field(default_factory=list)
    """The longer descriptions (``alt``) of pictures."""
    tree: Boxes = field(default_factory=Boxes)


def cut(tree: HtmlElement, removed: Collection[etree._Element] = (), hidden: Hidden | None = None) -> Pieces:
    """Return the pieces of a page that are not in ``removed`` or ``hidden`` elements.

    The tree is not changed.
    """
    body = tree.find("body")
    return _Cutter(tree if body is None else body, "body", removed, hidden).run()


def render(roots: Iterable[etree._Element], removed: Collection[etree._Element] = ()) -> list[Block]:
    """Return the blocks in ``roots`` without navigation, forms, captions and the ``removed`` elements."""
    blocks: list[Block] = []
    for root in roots:
        outside = {*removed, *root.iter(*_NO_TEXT)} - {root}
        pieces = _Cutter(root, str(root.tag), outside, None).run()
        blocks += map(Block, map(partial(_kind_in, pieces.tree), pieces.boxes), pieces.texts)
    return blocks


def _kind_in(tree: Boxes, box: int) -> Kind:
    """Return the kind of the innermost box that has one."""
    while box and tree.tags[box] not in KINDS:
        box = tree.parents[box]
    return KINDS.get(tree.tags[box], "paragraph")


class _Cutter:
    """Walks through a page and collects its pieces."""

    __slots__ = (
        "_box_of", "_broken", "_found", "_hidden", "_in_link", "_in_strong", "_linked", "_links", "_names",
        "_open", "_parts", "_pictures", "_removed", "_root", "_strong",
    )  # fmt: skip

    def __init__(
        self, root: etree._Element, name: str, removed: Collection[etree._Element], hidden: Hidden | None
    ) -> None:
        self._root = root
        self._removed: set[etree._Element] = set(removed)
        self._hidden = hidden
        self._found = Pieces()
        self._parts: list[str] = []
        self._names = [name]
        """Names of the open block elements."""
        self._open: list[etree._Element] = [root]
        self._box_of = [_add_box(self._found.tree, root, name, 0)]
        """Numbers of the boxes of the outer open elements.

        The boxes of inner elements are created when a text needs them, because many elements contain no text.
        """
        self._in_link = self._in_strong = 0
        self._linked = self._strong = self._links = self._pictures = 0
        self._broken = False

    def run(self) -> Pieces:
        """Return the pieces below the root."""
        # This loop runs for each element, so it must be fast. White space before a piece is skipped. Inside a
        # piece, white space separates words.
        walker = etree.iterwalk(self._root, events=("start", "end"))
        removed, parts, texts, root = self._removed, self._parts, self._found.texts, self._root
        for event, element in walker:
            name = element.tag
            if event == "start":
                if name in _SKIPPED or element in removed or self._is_left_out(element):
                    # A skipped element has no text, but the text after it (its tail) belongs to the page.
                    # iterwalk still yields its end event, for which the tail is added below.
                    self._pictures += name in _MOVING
                    removed.add(element)
                    walker.skip_subtree()
                    continue
                if name not in _PLAIN:
                    self._start(element, name)
                if (text := element.text) and (parts or not text.isspace()):
                    self._add(text)
                continue
            if name not in _PLAIN and element not in removed:
                self._end(element, name)
            if (text := element.tail) and (parts or not text.isspace()) and element is not root:
                self._add(text)
            if len(texts) >= MAX_PIECES:
                return self._found
        self._flush()
        return self._found

    def _is_left_out(self, element: etree._Element) -> bool:
        """True for comments, buttons beside sentences and hidden elements."""
        name, get = element.tag, element.get
        if not isinstance(name, str) or (name == "button" and not is_in_sentence(element)):
            return True
        if self._hidden is None or (
            get("style") is None
            and get("hidden") is None
            and get("aria-hidden") is None
            and get("color") is None
            and not is_for_screen_readers(element)
        ):
            return False
        return isinstance(element, HtmlElement) and self._hidden.covers(element)

    def _start(self, element: etree._Element, name: str) -> None:
        if name == "a":
            if self._is_link(element):
                self._in_link += 1
                self._links += 1
        elif name in _STRONG:
            self._in_strong += 1
        elif name == "br":
            self._flush()
            self._broken = True
        elif name == "button":
            pass  # a word of a sentence
        elif name == "img":
            if (alt := element.get("alt")) and _EMOJI.fullmatch(alt):
                self._add(alt)
                return
            self._break()
            self._pictures += 1
            if len(alt := element.get("alt") or "") >= _LEAST_ALT:
                self._found.alts.append(alt)
        # Every other element begins a box, including custom elements (<my-box>), unless it is inside a
        # sentence.
        elif element is not self._root and not self._is_unknown(name):
            self._break()
            self._names.append(name)
            self._open.append(element)

    def _end(self, element: etree._Element, name: str) -> None:
        if name == "a":
            self._in_link -= self._is_link(element)
        elif name in _STRONG:
            self._in_strong -= 1
        elif name not in ("br", "img", "button") and element is not self._root and self._names[-1] == name:
            self._break()
            self._names.pop()
            self._open.pop()
            # the boxes of closed elements are no longer current
            del self._box_of[len(self._open) :]

    def _is_link(self, element: etree._Element) -> bool:
        """False for the target of a link in or around a heading: ``<h3><a name=costs>Costs</a></h3>``."""
        return element.get("href") is not None or not (
            self._names[-1] in _HEADINGS or (len(element) and element[0].tag in _HEADINGS)
        )

    def _is_unknown(self, name: str) -> bool:
        """True for custom elements and elements of text processors (``<st1:city>``) inside a sentence."""
        return ":" in name or ("-" in name and self._names[-1] in SENTENCES)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        if (self._in_link or self._in_strong) and not text.isspace():
            self._linked += len(text) if self._in_link else 0
            self._strong += len(text) if self._in_strong else 0

    def _break(self) -> None:
        # If there is no text, links and <br> are dropped, because they do not belong to the piece after the
        # border.
        if self._parts or self._links or self._broken:
            self._flush()

    def _flush(self) -> None:
        text = "".join(self._parts)
        if text and not text.isspace():
            for line in preformatted(text) if self._names[-1] == "pre" else (text,):
                if squashed := squash(resolved(line)):
                    self._append(squashed)
        self._parts.clear()
        self._linked = self._strong = self._links = 0
        self._broken = False

    def _append(self, text: str) -> None:
        found = self._found
        found.texts.append(text)
        found.boxes.append(self._box())
        found.linked.append(min(len(text), self._linked))
        found.strong.append(min(len(text), self._strong))
        found.links.append(self._links)
        found.broken.append(self._broken)
        found.pictures.append(self._pictures)
        self._pictures = 0

    def _box(self) -> int:
        """Return the number of the innermost open box. Boxes are created here, from the outside in."""
        made = self._box_of
        for place in range(len(made), len(self._open)):
            made.append(_add_box(self._found.tree, self._open[place], self._names[place], made[-1]))
        return made[-1]


def _add_box(boxes: Boxes, element: etree._Element, name: str, parent: int) -> int:
    attributes: dict[Any, Any] = dict(element.items())
    names: tuple[str, ...] = ()
    spoken = note = 0
    if attributes:
        said = " ".join([value for key in _NAMES if (value := attributes.get(key))])
        names, spoken, note = _read_names(said[:_MOST_ATTRIBUTES]) if said else (names, spoken, note)
    is_root = not boxes.tags
    depth = 0 if is_root else boxes.depths[parent] + 1
    regions = note if is_root else boxes.regions[parent] | _REGION_BITS.get(name, 0) | note
    if "hidden" in attributes or ("style" in attributes and _HIDDEN.search(attributes["style"][:500])):
        regions |= _IS_HIDDEN
    boxes.tags.append(name)
    boxes.parents.append(parent)
    boxes.depths.append(depth)
    boxes.regions.append(regions)
    # Each subject has its own byte, so one addition of whole numbers counts all subjects. A byte cannot
    # overflow at depths below _DEEP.
    boxes.around.append(spoken if is_root else boxes.around[parent] + (spoken if depth < _DEEP else 0))
    # The last 80 characters keep the path short on deeply nested pages.
    boxes.kinds.append("body" if is_root else f"{boxes.kinds[parent][-80:]}/{name}.{'.'.join(names[:4])}")
    return len(boxes.tags) - 1


def tag_number(name: str) -> int:
    """Return the number of a tag (:data:`TAGS`)."""
    return _TAG_NUMBERS.get(name, OTHER_TAG)


@lru_cache(maxsize=8192)
def _read_names(said: str) -> tuple[tuple[str, ...], int, int]:
    """Return the words of a box's names, the subjects that they name, one byte per subject, and
    :data:`IS_NOTE` or 0."""
    words = tuple(dict.fromkeys([word.lower() for word in _WORD.findall(said)]))[:12]
    subjects = {subject for word in words for subject in _subjects(word)}
    if _PATTERNS[_MAIN_TEXT].search(said.lower()):
        subjects.add(_MAIN_TEXT)
    note = IS_NOTE if _NOTE.search(said) else 0
    return words, sum(1 << (8 * subject) for subject in subjects), note


@lru_cache(maxsize=16384)
def _subjects(word: str) -> tuple[int, ...]:
    """Return the numbers of the subjects that a word names.

    Words are cached one by one, because new sites have new names made of known words.
    """
    return tuple([number for number, pattern in enumerate(_PATTERNS) if pattern.search(word)])
