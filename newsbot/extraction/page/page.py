"""Represents a parsed page with its metadata and structured data, which are collected in one walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from urllib.parse import SplitResult, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from newsbot.extraction.page.jsonld import Node, Nodes
from newsbot.extraction.strings import plain, squash, word_set

MAX_TIMES = 200
"""Maximum number of ``<time>`` elements that are collected."""
MAX_HEADLINES = 50
"""Maximum number of ``<h1>`` elements that are collected."""
MAX_STEPS = 4000
"""Maximum number of start and end tags that are visited to get the text of one element."""
MAX_ITEM_NAMES = 10
"""Maximum number of names in one ``itemprop``."""

MAX_BOXES = 12
"""Maximum number of ancestors that :meth:`Page.is_aside` checks."""

_ARTICLE_TYPE = re.compile(r"(?:Article|BlogPosting)/?$")
_ENTRY = re.compile(r"(?:^|\s)h-?entry(?:\s|$)")
"""The class of an article in hAtom and microformats2 (https://microformats.org)."""
_FOOTER = re.compile("footer", re.IGNORECASE)
# The values of ``itemprop`` that are collected.
_ITEM_NAMES = word_set(
    "headline name datePublished dateModified dateCreated author creator articleBody articleSection keywords",
    "description inLanguage",
)


def xpath(expression: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Compile an XPath that selects elements. Several threads may call the returned function."""
    compiled = etree.XPath(expression)

    def run(element: HtmlElement) -> list[HtmlElement]:
        found = compiled(element)
        return [hit for hit in found if isinstance(hit, HtmlElement)] if isinstance(found, list) else []

    return run


_ITEM = xpath("//@itemprop/..")
_CODE = frozenset({"script", "style"})


@dataclass(slots=True)
class Times:
    """One ``<time>`` element.

    ``stamp`` is its machine-readable value, ``text`` its visible text, and ``names`` its class, ``itemprop``
    and id in lower case.
    """

    stamp: str
    text: str
    names: str
    element: HtmlElement


@dataclass
class Page:
    """A page with its metadata, as the functions for the fields read it.

    The tree is shared and must not be changed.
    """

    tree: HtmlElement
    url: str
    metas: dict[str, list[str]] = field(default_factory=dict)
    """Values of ``<meta>`` by ``property``, ``name`` or ``itemprop`` in lower case."""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Values of ``href`` of the ``<link>`` elements, by relation (``rel``)."""
    title_tag: str = ""
    """Text of the first ``<title>`` that is not part of a drawing (SVG)."""
    h1: list[HtmlElement] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Texts of the scripts with JSON-LD."""
    html_lang: str | None = None
    """The language tag of ``<html>``."""

    @classmethod
    def read(cls, tree: HtmlElement, url: str) -> Page:
        """Collect the metadata of ``tree``. ``url`` is the URL of the page."""
        page = cls(tree, url)
        page.html_lang = (
            tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or tree.get("xml:lang")
        )
        readers = {
            "meta": page._meta,
            "link": page._link,
            "script": page._script,
            "title": page._title,
            "h1": page._h1,
            "time": page._time,
        }
        # lxml selects these elements in C. A walk over all elements in Python would be much slower.
        for element in tree.iter("meta", "link", "script", "title", "h1", "time"):
            readers[str(element.tag)](element)
        return page

    def meta(self, *names: str) -> str:
        """Return a value of ``<meta>``: the first one of the first of ``names`` that has any.

        The result is empty if none of the names has a value.
        """
        for name in names:
            for value in self.metas.get(name, ()):
                if value:
                    return value
        return ""

    def meta_all(self, *names: str) -> list[str]:
        """Return all values of ``<meta>`` with one of ``names``, in the order of ``names``."""
        return [value for name in names for value in self.metas.get(name, ()) if value]

    @cached_property
    def parts(self) -> SplitResult:
        """The parts of the page's URL. All are empty if the URL is not valid."""
        try:
            return urlsplit(self.url)
        except ValueError:  # brackets without an IPv6 address
            return urlsplit("")

    @property
    def host(self) -> str:
        """The host of the page's URL in lower case."""
        return (self.parts.hostname or "").lower()

    @cached_property
    def headings(self) -> list[str]:
        """The texts of the page's ``<h1>`` elements in order, without empty ones."""
        return [text for element in self.h1 if (text := text_of(element))]

    @cached_property
    def around_headline(self) -> frozenset[HtmlElement]:
        """The ancestors of the first two ``<h1>`` elements.

        None of them is a side column, even if its class or id suggests one.
        """
        return frozenset(box for element in self.h1[:2] for box in element.iterancestors())

    def is_aside(self, element: HtmlElement, named: re.Pattern[str], tags: frozenset[str]) -> bool:
        """True for an element inside a side column, a footer or another box that is not part of the article.

        Such a box has one of ``tags``, or its class or id matches ``named``. Boxes that contain the headline
        do not count, and neither does the footer of the page's own article.
        """
        footer = False
        for box in islice(chain((element,), element.iterancestors()), MAX_BOXES):
            # A footer inside an <article> belongs to that article. It is aside only if the article is another
            # one.
            if footer and (box.tag == "article" or _ENTRY.search(box.get("class") or "")):
                return box not in self.around_headline
            # Many sites mark the whole page, for example <body class="right-sidebar">.
            if box.tag == "body" or (box in self.around_headline and not footer):
                return footer
            names = f"{box.get('class') or ''} {box.get('id') or ''}"
            if box.tag == "footer" or _FOOTER.search(names):
                footer = True
            elif box.tag in tags or named.search(names):
                return True
        return footer

    @cached_property
    def nodes(self) -> Nodes:
        """The JSON-LD of the page."""
        return Nodes(self.scripts)

    @cached_property
    def article(self) -> Node | None:
        """The JSON-LD node of the page's own article, or None."""
        return self.nodes.article(self.url, [self.meta("og:title"), *self.headings, self.title_tag])

    @property
    def has_own_article(self) -> bool:
        """True if :attr:`article` has the URL or the headline of this page."""
        return self.article is not None and self.nodes.own is not None

    @cached_property
    def items(self) -> dict[str, list[HtmlElement]]:
        """Microdata of the page's own article: its elements by ``itemprop``.

        A scope is an element with ``itemscope``, around the elements of one item. If the page has several
        article scopes, the one that contains the ``<h1>`` is read. If none of them contains an ``<h1>``, the
        result is empty.
        """
        marked = _ITEM(self.tree)
        scope = self._item_scope(
            [e for e in marked if e.get("itemprop") in ("headline", "articleBody", "datePublished")]
        )
        found: dict[str, list[HtmlElement]] = {}
        if scope is None:
            return found
        # Elements of nested scopes do not describe the article: a comment has a date, and an author has a
        # name.
        for element in marked[:2000]:
            for name in (element.get("itemprop") or "").split(maxsplit=MAX_ITEM_NAMES)[:MAX_ITEM_NAMES]:
                if name in _ITEM_NAMES and _nearest_scope(element) is scope:
                    found.setdefault(name, []).append(element)
        return found

    def _item_scope(self, marked: list[HtmlElement]) -> HtmlElement | None:
        """Return the scope of the page's own article, or None. ``marked`` are elements with ``itemprop``."""
        scopes: list[HtmlElement] = []
        for element in marked[:200]:
            scope = _nearest_scope(element)
            if (
                scope is not None
                and scope not in scopes
                and _ARTICLE_TYPE.search(scope.get("itemtype") or "")
            ):
                scopes.append(scope)
        if len(scopes) <= 1:
            return scopes[0] if scopes else None
        holders = [a for element in self.h1[:3] for a in element.iterancestors() if a in scopes]
        return holders[0] if holders else None

    def _meta(self, element: HtmlElement) -> None:
        value = element.get("content")
        if value is None or len(value) > 20_000:
            return
        for attribute in ("property", "name", "itemprop"):
            name = element.get(attribute)
            if name:
                self.metas.setdefault(name.strip().lower(), []).append(plain(value))

    def _link(self, element: HtmlElement) -> None:
        href = element.get("href")
        if href and len(href) < 4000:
            for relation in (element.get("rel") or "").lower().split():
                self.links.setdefault(relation, []).append(href.strip())

    def _script(self, element: HtmlElement) -> None:
        if "ld+json" in (element.get("type") or "").lower() and element.text:
            self.scripts.append(element.text)

    def _title(self, element: HtmlElement) -> None:
        # The <title> of a drawing (SVG) is its tooltip.
        if not self.title_tag and element.getparent() is not None and element.getparent().tag != "svg":
            self.title_tag = plain(text_of(element)[:2000])

    def _h1(self, element: HtmlElement) -> None:
        if len(self.h1) < MAX_HEADLINES:
            self.h1.append(element)

    def _time(self, element: HtmlElement) -> None:
        if len(self.times) < MAX_TIMES:
            names = " ".join(filter(None, (element.get("class"), element.get("itemprop"), element.get("id"))))
            stamp = element.get("datetime") or element.get("content") or ""
            self.times.append(Times(squash(stamp[:100]), text_of(element)[:200], names.lower(), element))


def text_of(element: HtmlElement, limit: int = 20_000) -> str:
    """Return the text of an element on one line, without scripts.

    Reading stops after about ``limit`` characters.
    """
    parts: list[str] = []
    length = 0
    for part in _pieces(element):
        parts.append(part)
        length += len(part)
        if length > limit:
            break
    # Inline elements may stand inside a word (<b>T</b>he), so no space is put between their texts.
    return squash(" ".join(parts) if len(parts) > 1 and _has_blocks(element) else "".join(parts))


def _pieces(element: HtmlElement) -> Iterator[str]:
    """Yield the texts in an element in document order, at most up to :data:`MAX_STEPS` tags."""
    if not len(element):
        if element.text and element.tag not in _CODE:
            yield element.text
        return
    # lxml stores the text behind an element as its tail. The end event reaches it in document order.
    for event, inner in islice(etree.iterwalk(element, events=("start", "end")), MAX_STEPS):
        if event == "end":
            if inner.tail and inner is not element:
                yield inner.tail
        elif inner.text and inner.tag not in _CODE:
            yield inner.text


def _has_blocks(element: HtmlElement) -> bool:
    """True if the element has children that begin a new line, so that a space must be put between texts."""
    return element.find("br") is not None or element.find("p") is not None or element.find("div") is not None


def _nearest_scope(element: HtmlElement) -> HtmlElement | None:
    """Return the innermost element with ``itemscope`` around ``element``, or None."""
    for ancestor in element.iterancestors():
        if ancestor.get("itemscope") is not None:
            return ancestor
    return None
