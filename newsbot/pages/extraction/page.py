"""Represents a parsed page with its metadata and structured data, which are collected in one walk.

:class:`Nodes` reads the JSON-LD of a page (https://schema.org) and finds the node of its article.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from itertools import chain, islice
from typing import Any
from urllib.parse import SplitResult, urlsplit

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.pages.extraction.parsing import MAX_HEADLINES
from newsbot.pages.extraction.visible import marked, text_of
from newsbot.pages.text.words import key, plain, squash, word_set

# --- JSON-LD
Node = dict[str, Any]

MAX_NODES = 3000
"""Maximum number of nodes of a page that are read."""
MAX_DEPTH = 24
"""Maximum depth of nested values that are read."""
MAX_SCRIPTS = 60
"""Maximum number of scripts of a page that are read."""
MAX_SCRIPT = 1_000_000
"""Maximum length of a script. A longer script is not read."""
MAX_NAMES_DEPTH = 4
"""Maximum number of nested nodes and lists that are followed to find a text."""

_ARTICLE = re.compile(r"(?:Article|BlogPosting|LiveBlogPosting|Report|NewsStory)$")
# Types of nodes that describe the page as a whole. Such nodes state fewer and less certain facts.
_WEAK = re.compile(
    r"(?:WebPage|CreativeWork|SocialMediaPosting|DiscussionForumPosting|VideoObject|Review|PodcastEpisode|"
    r"Recipe)$"
)
# Properties whose nodes are parts of the page's own article, or other works.
_ASIDE = word_set("hasPart isPartOf liveBlogUpdate itemListElement citation relatedLink comment review")
# e.g. the comma in [1, 2,]
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
# e.g. the backslash in "the mayor\'s": JSON has no such escape.
_BAD_ESCAPE = re.compile(r'\\(?![\\/"bfnrtu])')
# Comments hid the content of scripts from very old browsers: <!-- … -->, //<![CDATA[ … //]]>.
_OPENING = re.compile(r"\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*.{0,20}?\*/)?\s*", re.DOTALL)
_CLOSING = re.compile(r"\s*(?:-->|//\s*\]\]>|\]\]>|;)?\s*$")
_CLOSING_LENGTH = 200
"""Number of characters at the end of a script that are searched for the end of a comment.

A search in the whole script would be slow, because a match would be tried at each space.
"""
# e.g. "headline": before a string, a list or an object
_SINGLE = re.compile(
    r'"(headline|datePublished|dateModified|author|articleSection|inLanguage|url|mainEntityOfPage)"\s{0,20}:\s{0,20}(?=["\[{])'
)
_SAYS_ARTICLE = re.compile(r'"@type"\s{0,20}:\s{0,20}\[?\s{0,20}"[^"]{0,40}(?:Article|BlogPosting)"')
_MOST_SINGLE = 200
"""Maximum number of single values that are read from a broken script."""
_ENDS_VALUE = re.compile(r"\s{0,50}[,}\]]")


class Nodes:
    """All nodes of a page's JSON-LD in document order, with the references between them."""

    def __init__(self, scripts: Iterable[str]) -> None:
        self.all: list[Node] = []
        self.own: Node | None = None
        """The article that has the URL or the headline of this page. It is set by :meth:`article`."""
        self._asides: set[int] = set()
        self._by_id: dict[str, Node] = {}
        for script in islice(scripts, MAX_SCRIPTS):
            if len(script) <= MAX_SCRIPT:
                for document in load(script):
                    self._walk(document)

    def _walk(self, document: Any) -> None:
        # The values are visited with a stack and not by recursion, because they may be nested deeply. They
        # are pushed in reverse, so that pop() returns them in document order.
        stack: list[tuple[Any, int, bool]] = [(document, 0, False)]
        while stack and len(self.all) < MAX_NODES:
            value, depth, aside = stack.pop()
            if isinstance(value, list) and depth < MAX_DEPTH:
                stack.extend((item, depth + 1, aside) for item in reversed(value[:500]))
            elif isinstance(value, dict) and depth < MAX_DEPTH:
                self._add(value, aside=aside)
                stack.extend(
                    (child, depth + 1, aside or name in _ASIDE)
                    for name, child in reversed(value.items())
                    if isinstance(child, dict | list)
                )

    def _add(self, node: Node, *, aside: bool) -> None:
        self.all.append(node)
        if aside:
            self._asides.add(id(node))
        name = node.get("@id")
        if isinstance(name, str):
            # A node that only refers to another node has the same @id. References lead to the node that has a
            # name or more properties.
            known = self._by_id.get(name, {})
            if (bool(node.get("name")), len(node)) > (bool(known.get("name")), len(known)):
                self._by_id[name] = node

    def follow(self, value: Any) -> Any:
        """Return the node that ``value`` refers to by its ``@id``. Other values are returned unchanged."""
        if isinstance(value, dict) and not value.get("name") and isinstance(value.get("@id"), str):
            return self._by_id.get(value["@id"], value)
        return value

    def article(self, url: str, titles: Iterable[str]) -> Node | None:
        """Return the node of the page's own article, or None.

        ``titles`` are the titles and headings of the page. A page may have several article nodes,
        for example one for each teaser. The order of preference is: a node with the URL or the headline of
        this page, a node that is not a part of another node, the node with the most properties.
        """
        known = {key(title) for title in titles if title}
        path = _bare(url)
        # The tuples are compared from left to right, so the first difference decides.
        found: list[tuple[tuple[bool, bool, bool, int], Node]] = []
        for node in self.all:
            if not is_article(node):
                continue
            names_page = path in map(_bare, _addresses(node))
            same_title = key(first_text(node.get("headline") or node.get("name"))) in known
            whole = id(node) not in self._asides
            said = sum(
                bool(node.get(name)) for name in ("headline", "datePublished", "author", "articleBody")
            )
            if said:
                found.append(((names_page or same_title, whole, same_title, said), node))
        if not found:
            return None
        rank, node = max(found, key=lambda pair: pair[0])
        if rank[0]:
            self.own = node
            return node
        # No node has the URL or the headline. If there are three or more nodes, they may be teasers of other
        # articles.
        return node if len(found) < 3 and not _is_elsewhere(node, path, known) else None

    def weaker(self) -> Iterator[Node]:
        """Yield the nodes for the page as a whole (WebPage, VideoObject …) that state a time or an author."""
        for node in self.all:
            if (
                has_type(node, _WEAK)
                and id(node) not in self._asides
                and (node.get("datePublished") or node.get("uploadDate"))
            ):
                yield node

    def whole(self) -> Iterator[Node]:
        """Yield the nodes that are not parts of other nodes."""
        return (node for node in self.all if id(node) not in self._asides)


def _is_elsewhere(node: Node, path: str, titles: set[str]) -> bool:
    """True for an article whose URL is another URL on the same site and whose headline has other words."""
    stated = {bare for address in _addresses(node) if "/" in (bare := _bare(address))}
    words = set(key(first_text(node.get("headline") or node.get("name"))).split())
    return (
        bool(stated and words and titles)
        and all(bare.partition("/")[0] == path.partition("/")[0] for bare in stated)
        and not any(2 * len(words & set(title.split())) >= len(words) for title in titles)
    )


def is_article(node: Node) -> bool:
    """True for NewsArticle, BlogPosting, ReportageNewsArticle and other types with the same endings."""
    return has_type(node, _ARTICLE)


def types_of(node: Node) -> list[str]:
    """Return the types of a node. Invalid types are left out."""
    types = node.get("@type")
    return [name for name in (types if isinstance(types, list) else [types])[:20] if isinstance(name, str)]


def has_type(node: Node, pattern: re.Pattern[str]) -> bool:
    """True if a type of the node matches ``pattern``."""
    return any(pattern.search(name) for name in types_of(node))


def load(script: str) -> list[Any]:
    """Return the JSON documents of one script, or an empty list if nothing can be read.

    Common faults are repaired: comments around the text, raw line breaks in strings, trailing commas, wrong
    escapes, several documents in one script, and quotes that are written as entities. If the text is still
    broken, single values are read from it.
    """
    text = script.strip().lstrip("\ufeff")
    opening = _OPENING.match(text)
    text = text[opening.end() :] if opening else text
    closing = _CLOSING.search(text, max(0, len(text) - _CLOSING_LENGTH))
    text = text[: closing.start()] if closing else text
    if not text:
        return []
    repaired = text = unescape(text) if '"' not in text else text
    # Each repair may change a correct text, so the next repair is made only if the text still cannot be
    # parsed.
    for repair in (None, _BAD_ESCAPE, _TRAILING_COMMA):
        if repair is not None:
            repaired = repair.sub(r"\\\\" if repair is _BAD_ESCAPE else r"\1", repaired)
        documents = _decode(repaired)
        if documents:
            return documents
    # Other nodes have URLs and times too. So the single values are used only if they belong to an article.
    values = _single_values(text[:100_000]) if '"@type"' in text else {}
    return [{"@type": "Article", **values}] if "headline" in values or _SAYS_ARTICLE.search(text) else []


def _single_values(text: str) -> dict[str, Any]:
    """Return values of a broken JSON text by name.

    For each name in :data:`_SINGLE`, the first value that can be parsed and is complete is returned.
    """
    decoder = json.JSONDecoder(strict=False)
    found: dict[str, Any] = {}
    for match in islice(_SINGLE.finditer(text), _MOST_SINGLE):
        if match[1] in found:
            continue
        try:
            value, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        # If a string is followed by other text, an unescaped quote has ended the string too early.
        if _ENDS_VALUE.match(text, end) or not text[end:].strip():
            found[match[1]] = value
    return found


def _decode(text: str) -> list[Any]:
    # strict=False accepts raw line breaks in strings.
    decoder = json.JSONDecoder(strict=False)
    documents: list[Any] = []
    at = 0
    while at < len(text) and len(documents) < 20:
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        documents.append(document)
        # Some sites write several documents one after the other, separated by commas or semicolons.
        while at < len(text) and text[at] in " \t\r\n;,":
            at += 1
    return documents


def _bare(url: str) -> str:
    """Return a URL in lower case without scheme, ``www.``, query and final slash.

    These parts are removed because pages write them inconsistently in their own URL.
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0].rpartition("//")[2]
    return bare.removeprefix("www.").rstrip("/").lower()


def _addresses(node: Node) -> Iterator[str]:
    """Yield the URLs that a node states for itself."""
    for name in ("url", "mainEntityOfPage", "@id"):
        value = node.get(name)
        if isinstance(value, dict):
            value = value.get("@id") or value.get("url")
        if isinstance(value, str):
            yield value


def texts(value: Any, depth: int = MAX_NAMES_DEPTH) -> list[str]:
    """Return the texts of a value that may be a string, a node with a name, or a list of these.

    Nested nodes are followed for ``depth`` steps. Other values have no texts.
    """
    if isinstance(value, str):
        text = plain(value[:20_000])
        return [text] if text else []
    if depth == 0:
        return []
    if isinstance(value, dict):
        named = value.get("name") or value.get("@value") or value.get("headline") or value.get("@list")
        return texts(named, depth - 1) or _full_name(value)
    if isinstance(value, list):
        return [text for item in value[:100] if not isinstance(item, list) for text in texts(item, depth - 1)]
    return []


def scalar(value: Any) -> str:
    """Return a string or a number as text. The result is empty for other values.

    For a list, the first value is used. For a node, its ``@value`` is used.

    >>> scalar(["2024-05-03"]), scalar({"@value": 1714745110}), scalar(None)
    ('2024-05-03', '1714745110', '')
    """
    for _ in range(MAX_NAMES_DEPTH):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("@value")
    return str(value) if isinstance(value, str | int | float) else ""


def _full_name(node: Node) -> list[str]:
    parts = [node.get("givenName"), node.get("familyName")]
    name = plain(" ".join(part for part in parts if isinstance(part, str)))
    return [name] if name else []


def first_text(value: Any) -> str:
    """Return the first of the :func:`texts` of a value, or an empty string."""
    found = texts(value)
    return found[0] if found else ""


# --- the page

MAX_TIMES = 200
"""Maximum number of ``<time>`` elements that are collected."""
MAX_SMALLER = 40
"""Maximum number of smaller headings that are compared with the title of the page."""
_LEAST_TITLE = 8
"""Minimum length of the title of a page in its headline. Shorter headings are sections."""
_LONGEST_TITLE = 400
_TITLE_PARTS = re.compile(
    r"\s+[|–—·»«:~-]+\s+|\s*[|｜]\s*|(?<=[\u3040-\u9fff\uff00-\uff65])[-_－＿](?=[\u3040-\u9fff]{2,10}(?:[-_－＿]|$))"
)
_HOME = ("/", "/index.html", "/index.php")
_LONGEST_NAME = 60
MAX_LINKS = 1000
"""Maximum number of links in which the links to the home page are looked for."""
MAX_HOME_LINKS = 10
MAX_TEXTS = 3000
"""Maximum number of elements in which the title of the page is looked for."""
_TEXTS = ("h4", "h5", "h6", "div", "p", "span", "strong", "b", "font", "td", "center", "big")
_TRAIL = re.compile(r"crumb|related|menu|navi|side-?bar|share", re.IGNORECASE)


def _is_trail(box: HtmlElement) -> bool:
    """True for a menu, a breadcrumb, a side column, a footer and a link."""
    named = f"{box.get('class') or ''} {box.get('id') or ''}"
    return box.tag in ("nav", "aside", "footer", "a") or (box.tag != "body" and bool(_TRAIL.search(named)))


def _shown_text(element: HtmlElement) -> str:
    """Return the text of an element, or the alternative text of its picture."""
    return text_of(element, _LONGEST_TITLE) or next((p.get("alt") or "" for p in element.iter("img")), "")


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
    """A page with its metadata. The functions that extract fields read it.

    The tree is shared and must not be changed.
    """

    tree: HtmlElement
    url: str
    metas: dict[str, list[str]] = field(default_factory=dict)
    """Values of ``<meta>`` by ``property``, ``name`` or ``itemprop`` in lower case."""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Values of ``href`` of the ``<link>`` elements, by relation (``rel``)."""
    title_tag: str = ""
    """Text of the first ``<title>`` that is not part of a drawing (SVG).

    If there are several, and an ``<h1>`` below them is in another one, it is that one.
    """
    h1: list[HtmlElement] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Texts of the scripts with JSON-LD."""
    base: str = ""
    """The first ``<base href>``."""
    html_lang: str | None = None
    """The language tag of ``<html>``."""
    _starts: dict[tuple[HtmlElement, int], str] = field(default_factory=dict)
    _titles: list[HtmlElement] = field(default_factory=list)
    """The further ``<title>`` elements."""

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
            "base": page._base,
        }
        # lxml selects these elements in C. A walk over all elements in Python would be much slower.
        for element in tree.iter(*readers):
            readers[str(element.tag)](element)
        return page

    def meta(self, *names: str) -> str:
        """Return the first value of ``<meta>`` for the first of ``names`` that has a value.

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
        except ValueError:  # the URL has brackets without an IPv6 address
            return urlsplit("")

    @property
    def host(self) -> str:
        """The host of the page's URL in lower case."""
        return (self.parts.hostname or "").lower()

    def start_of(self, box: HtmlElement, limit: int) -> str:
        """Return about ``limit`` characters of the text of ``box``.

        The result is kept, because many elements are in the same boxes.
        """
        if (box, limit) not in self._starts:
            self._starts[box, limit] = text_of(box, limit)
        return self._starts[box, limit]

    @cached_property
    def headings(self) -> list[str]:
        """The texts of :attr:`headlines`. Empty texts are left out."""
        return [text for element in self.headlines if (text := text_of(element))]

    @cached_property
    def headlines(self) -> list[HtmlElement]:
        """The elements that can be the headline, in page order.

        They are the ``<h1>`` elements. If the title of the page is the text of a smaller heading and of no
        ``<h1>``, the smaller heading is the headline, and an ``<h1>`` is the name of the site. If all
        ``<h1>`` name the site or a section, the headline may be any element with the title of the page.
        """
        smaller = self._smaller_headline()
        if smaller is not None:
            return [smaller]
        return [one for one in self.h1 if one not in self.logos] or self.h1

    @cached_property
    def logos(self) -> list[HtmlElement]:
        """The ``<h1>`` elements that name the site, if the page states another title.

        Such a heading is a link to the home page, or has the text of such a link.
        """
        if self.parts.path in _HOME:
            return []
        named = [(key(_shown_text(heading)), heading) for heading in self.h1]
        if len(named) == 1 and named[0][0] == key(self.meta("og:title")):  # so it is on most pages
            return []
        links = {one: chain(one.iter("a"), one.iterancestors("a")) for _, one in named}
        found = [o for name, o in named if name in self.home_names or any(map(self._leads_home, links[o]))]
        names = {"", *(name for name, one in named if one in found), *self.home_names}
        stated = {key(self.meta("og:title")), *map(key, _TITLE_PARTS.split(self.title_tag))}
        return found if found and stated - names else []

    @cached_property
    def home_names(self) -> frozenset[str]:
        """The keys of ``og:site_name`` and of the links to the home page: their texts and their pictures."""
        links = (link for link in islice(self.tree.iter("a"), MAX_LINKS) if self._leads_home(link))
        some = islice(links, MAX_HOME_LINKS)
        shown = chain.from_iterable((_shown_text(link), link.get("title")) for link in some)
        names = map(key, filter(None, (self.meta("og:site_name", "application-name"), *shown)))
        return frozenset(name for name in names if name and len(name) <= _LONGEST_NAME)

    def _smaller_headline(self) -> HtmlElement | None:
        named = [(name, heading) for heading in self.h1 if (name := key(_shown_text(heading)))]
        large = [name for name, _ in named]
        logos = {name for name, heading in named if heading in self.logos}
        whole, parts = key(self.title_tag), [*map(key, _TITLE_PARTS.split(self.title_tag))]
        titles = {key(self.meta("og:title")), *parts[:1]}
        longest = max(parts, key=len)
        if any(name in (*titles, longest) and name not in logos for name in large):
            return None
        # No separator is needed beside a name that the page shows. A headline is longer than such a name.
        names = {*large, *self.home_names} if logos or not large else {*large}
        titles |= {whole.removesuffix(f" {name}") for name in names}
        titles |= {rest for name in names if len(rest := whole.removeprefix(f"{name} ")) > len(name)}
        if not large or (longest not in large and any(name in parts for name in large)):
            titles.add(longest)
        titles = {title for title in titles - logos - self.home_names if len(title) >= _LEAST_TITLE}
        if not titles or any(name in titles for name in large):
            return None
        smaller = islice(self.tree.iter("h2", "h3"), MAX_SMALLER)
        possible = (*smaller, *self.items.get("headline", [])[:1])
        found = next((one for one in possible if key(text_of(one, _LONGEST_TITLE)) in titles), None)
        sections = {name for name in large if name in parts}
        return found if found is not None or logos | sections != {*large} else self._element_with(titles)

    def _element_with(self, titles: set[str]) -> HtmlElement | None:
        """Return the first element outside of menus and side columns whose text is one of ``titles``."""
        for one in islice(self.tree.iter(*_TEXTS), MAX_TEXTS):
            start = key((one.text or "")[:_LEAST_TITLE])
            if (
                start
                and any(title.startswith(start) for title in titles)
                and key(text_of(one, _LONGEST_TITLE)) in titles
                and not any(_is_trail(box) for box in islice(chain((one,), one.iterancestors()), MAX_BOXES))
            ):
                return one
        return None

    def _leads_home(self, link: HtmlElement) -> bool:
        href = (link.get("href") or "").strip()
        is_relative = href.startswith(".") or href in ("index.html", "index.php")
        return (urls.resolve(self.url, href) if is_relative else href) in self._home_urls

    @cached_property
    def _home_urls(self) -> frozenset[str]:
        """The forms of the URL of the home page in links. Most links are others, so they are not resolved."""
        name = self.host.removeprefix("www.")
        starts = [f"{scheme}//{host}" for scheme in ("", "http:", "https:") for host in (name, f"www.{name}")]
        here = self.parts.path in _HOME
        return frozenset(start + path for start in ("", *starts) for path in ("", *_HOME) if not here) - {""}

    @cached_property
    def around_headline(self) -> frozenset[HtmlElement]:
        """The ancestors of the first two elements that can be the headline.

        These elements are not side columns, even if the class or id suggests a side column.
        """
        return frozenset(box for element in self.headlines[:2] for box in element.iterancestors())

    def is_aside(self, element: HtmlElement, named: re.Pattern[str], tags: frozenset[str]) -> bool:
        """True for an element inside a side column, a footer or another box that is not part of the article.

        Such a box has one of ``tags``, or its class or id matches ``named``. Two kinds of boxes do not count:
        boxes that contain the headline, and the footer of the page's own article.
        """
        footer = False
        for box in islice(chain((element,), element.iterancestors()), MAX_BOXES):
            # A footer inside an <article> belongs to that article. It is aside only if that article is not
            # the page's own article.
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

    @cached_property
    def marked(self) -> list[HtmlElement]:
        """The elements that :func:`marked` finds."""
        return marked(self.tree)

    @property
    def has_own_article(self) -> bool:
        """True if :attr:`article` has the URL or the headline of this page."""
        return self.article is not None and self.nodes.own is not None

    @cached_property
    def items(self) -> dict[str, list[HtmlElement]]:
        """Microdata of the page's own article: ``itemprop`` -> elements.

        A scope is an element with ``itemscope``, around the elements of one item. If the page has several
        article scopes, the scope that contains the ``<h1>`` is read. If no scope contains an ``<h1>``, the
        result is empty.
        """
        marked = [element for element in self.marked if element.get("itemprop") is not None]
        scope = self._item_scope(
            [e for e in marked if e.get("itemprop") in ("headline", "articleBody", "datePublished", "author")]
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
        parent = element.getparent()
        if parent is None or parent.tag == "svg":  # the <title> of a drawing (SVG) is its tooltip
            return
        if not self.title_tag:
            self.title_tag = plain(text_of(element)[:2000])
        elif len(self._titles) < MAX_HEADLINES:
            self._titles.append(element)

    def _h1(self, element: HtmlElement) -> None:
        if len(self.h1) < MAX_HEADLINES:
            self.h1.append(element)
            # A banner before the document brings its own <title>. The headline shows which one is the page's.
            headline = key(text_of(element, 500)) if self._titles else ""
            if headline and headline not in key(self.title_tag):
                titles = (plain(text_of(title)[:2000]) for title in self._titles)
                self.title_tag = next((title for title in titles if headline in key(title)), self.title_tag)

    def _base(self, element: HtmlElement) -> None:
        self.base = self.base or (element.get("href") or "").strip()

    def _time(self, element: HtmlElement) -> None:
        if len(self.times) < MAX_TIMES:
            names = " ".join(filter(None, (element.get("class"), element.get("itemprop"), element.get("id"))))
            stamp = stamp_of(element)
            self.times.append(Times(squash(stamp[:100]), text_of(element)[:200], names.lower(), element))


def stamp_of(element: HtmlElement) -> str:
    """Return the machine-readable time of an element, or an empty string.

    It may be in the ``title``, as in hAtom (``<abbr class="published" title="2026-11-15T07:00Z">``), or in an
    attribute for scripts (``<span class="date" data-timestamp="1763190000">``).
    """
    if stated := element.get("datetime") or element.get("content"):
        return str(stated)
    for name, value in element.items():
        if _DATED_ATTRIBUTE(str(name)) and _STAMP.fullmatch(value[:_LONGEST_STAMP]):
            return str(value)
    return ""


_DATED_ATTRIBUTE = re.compile("title$|data-(?!.*(?:modif|updat|expir|end)).*(?:date|time|publi|utc)").match
_STAMP = re.compile(r"\s{0,9}(?:\d{4}-\d\d-\d\d(?!\d).*|1\d{9}(?:\d{3})?)\s{0,9}")
"""Matches a time in ISO 8601, and POSIX seconds and milliseconds."""
_LONGEST_STAMP = 60


def _nearest_scope(element: HtmlElement) -> HtmlElement | None:
    """Return the innermost element with ``itemscope`` around ``element``, or None."""
    for ancestor in element.iterancestors():
        if ancestor.get("itemscope") is not None:
            return ancestor
    return None


def base_of(page: Page) -> str:
    """Return the URL against which the relative URLs of a page are resolved (``<base href>``)."""
    return (urls.resolve(page.url, page.base) if page.base else None) or page.url
