"""Represents a parsed page with its metadata and structured data, which are collected in one walk.

:func:`parse_html` parses the bytes of a page into a tree, with bounded time and memory for any input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from urllib.parse import SplitResult, urlsplit

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from newsbot import urls
from newsbot.errors import NotAnArticle
from newsbot.pages.extraction.page.charset import decode_as, detect, encoding_of_links, with_encoded_query
from newsbot.pages.extraction.page.jsonld import Node, Nodes
from newsbot.pages.extraction.page.shell import is_odd, with_standard_shell
from newsbot.pages.extraction.page.visible import PHRASING
from newsbot.pages.extraction.strings import key, plain, squash, word_set

# --- parsing

MAX_BYTES = 6_000_000
"""Maximum number of bytes of a page that are read. The rest is ignored."""
MAX_MARKUP = 2_500_000
"""Maximum number of characters that are parsed.

If the markup is longer, scripts are removed first, and then the markup is cut.
"""
MAX_TAGS = 60_000
"""Maximum number of tags that are parsed. The longest real pages have about 30,000."""

MAX_ATTRIBUTES = 75_000
"""Maximum number of attributes that are parsed. The longest real pages have about 20,000.

Each copy of the tree takes 250 bytes per attribute.
"""

MAX_MAINS = 5
"""Maximum number of ``<main>`` elements whose ancestors are checked."""
MAX_CELLS = 200
"""Maximum number of cells in a row of a table."""
LONG_MARKUP = 500_000
"""Markup with more characters is checked for long class names and many attributes."""
MAX_CLASS = 500
"""Maximum length of a class attribute in markup longer than :data:`LONG_MARKUP`."""

_READINGS = ("rt", "rp", "rtc")
"""Readings of the characters of a ``<ruby>``. They are not part of the sentence."""
# Elements that contain a <main> only if their end tags are missing.
_NEVER_AROUND_MAIN = ("button", "nav", "header", "footer", "aside", "select", "label", "svg", "dialog")
# The first bytes of files that are not text.
_BINARY = (
    b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"\x1f\x8b", b"RIFF", b"ID3", b"OggS",
    b"\x7fELF", b"Rar!", b"7z\xbc\xaf", b"MZ\x90", b"wOFF", b"wOF2", b"\xd0\xcf\x11\xe0", b"BZh",
    b"\x28\xb5\x2f\xfd", b"fLaC",
)  # fmt: skip
# Control characters that text does not contain. 27 (ESC) is not included, because ISO-2022-JP uses it to
# switch character sets.
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_UNWANTED = bytes({*range(32), 127} - {9, 10, 12, 13})
_SCRIPT_END = re.compile(r"</(?:script|style|svg)", re.IGNORECASE)
_SCRIPT = re.compile(r"<(?:script|style|svg)\b", re.IGNORECASE)
# The expression matches all tags except the tags that are needed for fields and paragraphs.
_LAYOUT_TAG = re.compile(
    r"</?(?!/?(?:html|head|body|title|meta|link|script|style|p|h[1-6]|time|br)\b)[a-zA-Z][^<>]{0,2000}>",
    re.IGNORECASE,
)
_TEXT = re.compile(r"[^\W_]")
_LONG_CLASSES = etree.XPath(f"//*[string-length(@class) > {MAX_CLASS}]")
_HAS_MANY_ATTRIBUTES = etree.XPath(f"count(//@*) > {MAX_ATTRIBUTES}")
_PLAIN_ELEMENTS = etree.ElementDefaultClassLookup(element=HtmlElement)
"""Makes every element a plain ``HtmlElement``.

By default, lxml.html calls a Python function to choose the class of each element. newsbot does not need the
special classes, which are for forms.
"""


def parse_html(html: bytes, charset: str | None = None) -> HtmlElement:
    """Return the tree of a page without comments and processing instructions.

    ``html`` is the body of the response. ``charset`` is the encoding that the server declared. Raises
    :class:`NotAnArticle` with the reason ``binary`` or ``empty`` if there is nothing to parse.

    Time and memory are bounded. The markup is cut at :data:`MAX_MARKUP`, :data:`MAX_TAGS` and
    :data:`MAX_ATTRIBUTES`. If the markup is too long, scripts without data are removed first. libxml2 limits
    the depth of the tree and the length of a text.
    """
    if not html or html.isspace():
        raise NotAnArticle("empty")
    if _is_binary(html):
        raise NotAnArticle("binary")
    html = html[:MAX_BYTES]
    encoding = detect(html, charset)
    markup = decode_as(html, encoding)
    if len(markup) > MAX_MARKUP:
        markup = _without_scripts(markup)[:MAX_MARKUP]
    # Tags are counted by "<" and attributes by "=", before the parser uses memory for them.
    for sign, most in (("<", MAX_TAGS), ("=", MAX_ATTRIBUTES)):
        if markup.count(sign) > most:
            markup = sign.join(markup.split(sign, most)[:most])
    if is_odd(markup):
        markup = with_standard_shell(markup)
    tree, too_deep = _parse(markup)
    # libxml2 stops at a depth of 256. Such pages are parsed again without the tags that are only layout.
    if too_deep:
        tree, _ = _parse(_LAYOUT_TAG.sub(" ", markup))
    if tree is None:
        raise NotAnArticle("empty")
    _mend(tree)
    _encode_queries(tree, encoding_of_links(html, charset, encoding))
    # Short markup cannot have enough long classes and attributes to slow down the extractors.
    if len(markup) > LONG_MARKUP:
        _shorten_classes(tree)
        _limit_attributes(tree)
    return tree


_LINKS = {"a": "href", "area": "href", "link": "href", "base": "href", "meta": "content"}
"""Attributes with addresses, by element. A ``<meta>`` may forward readers."""


def _encode_queries(tree: HtmlElement, encoding: str) -> None:
    """Encode the queries of links in the encoding of the page, before they are resolved."""
    if encoding.startswith("utf"):
        return
    for element in tree.iter(*_LINKS):
        name = _LINKS[str(element.tag)]
        link = element.get(name) or ""
        if "?" in link and not link.isascii() and (name == "href" or element.get("http-equiv")):
            element.set(name, with_encoded_query(link, encoding))


def _mend(tree: HtmlElement) -> None:
    """Repair markup that would mislead the extractors, or slow them down.

    All repairs are made in one walk. Each walk is slow, because the nodes of a large page are far apart in
    memory.
    """
    found: dict[str, list[HtmlElement]] = {
        "main": [], "tr": [], "a": [], "span": [], "sup": [], "template": [], "h1": []
    }  # fmt: skip
    readings: list[HtmlElement] = []
    for element in tree.iter(*found, *_READINGS):
        found.get(str(element.tag), readings).append(element)
    for element in readings:
        _drop(element)
    for template in found["template"]:
        if "shadowrootmode" in template.attrib:  # browsers show this template
            template.tag = "div"
    _free_main(found["main"])
    _narrow_rows(found["tr"])
    _without_asides((*found["a"], *found["span"], *found["sup"]))
    for heading in found["h1"][:MAX_HEADLINES]:
        buttons = heading.findall(".//button")
        if len(text_of(heading)) > sum(len(text_of(button)) for button in buttons):
            for button in buttons:  # "Share" does not belong to the headline
                button.drop_tree()


def _drop(element: HtmlElement) -> None:
    """Remove an element. The text after it, and the base texts of unclosed readings in it, are kept."""
    parent = element.getparent()
    if parent is not None:
        for base in element.findall(".//rb"):
            element.addprevious(base)
        element.drop_tree()


def _free_main(mains: list[HtmlElement]) -> None:
    """Rename buttons, menus and similar elements around ``<main>`` to ``<div>``.

    These elements contain the main part only because the page does not close them.
    """
    for main in mains[:MAX_MAINS]:
        for holder in main.iterancestors(*_NEVER_AROUND_MAIN):
            holder.tag = "div"


def _narrow_rows(rows: list[HtmlElement]) -> None:
    """Split rows with more than :data:`MAX_CELLS` cells.

    Extractors count all cells of a row again for each cell, which takes quadratic time.
    """
    for row in rows:
        if len(row) <= MAX_CELLS:
            continue
        last = row
        cells = row[MAX_CELLS:]
        for start in range(0, len(cells), MAX_CELLS):
            following = row.makeelement("tr")
            following.extend(cells[start : start + MAX_CELLS])
            last.addnext(following)
            last = following


def _shorten_classes(tree: HtmlElement) -> None:
    """Shorten very long class attributes. Extractors search each of them about thirty times."""
    found = _LONG_CLASSES(tree)
    for element in found if isinstance(found, list) else ():
        if isinstance(element, HtmlElement):
            element.set("class", (element.get("class") or "")[:MAX_CLASS])


def _limit_attributes(tree: HtmlElement) -> None:
    """Remove the attributes after the first :data:`MAX_ATTRIBUTES` of the page.

    Attributes without a value have no "=" and are not counted in the markup, so they are counted here.
    """
    if not _HAS_MANY_ATTRIBUTES(tree):
        return
    left = MAX_ATTRIBUTES
    for element in tree.iter(etree.Element):
        left -= len(element.attrib)
        if left < 0:
            element.attrib.clear()


def _is_binary(html: bytes) -> bool:
    """True for files that are not text.

    Only the first bytes are checked. The content type is not used, because it is often wrong.
    """
    start = html[:2048]
    # Video files of the type MP4 begin with the length of their first box, then "ftyp".
    if start.startswith(_BINARY) or start[4:8] == b"ftyp":
        return True
    # Text in UTF-16 has single zero bytes. Two zero bytes in a row are rare in such text.
    if b"<\0" in start or b"\0<" in start or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return start.count(b"\0\0") * 10 > len(start)
    control = len(start) - len(start.translate(None, _CONTROL))
    return control * 20 > len(start)


def _parse(markup: str) -> tuple[HtmlElement | None, bool]:
    """Return the tree (or None), and True if the parser stopped before the end of the page."""
    if not _TEXT.search(markup):
        return None, False
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False)
    parser.set_element_class_lookup(_PLAIN_ELEMENTS)
    try:
        tree = document_fromstring(
            markup.encode("utf-8", "replace").translate(None, _UNWANTED), parser=parser
        )
    except (etree.ParserError, etree.XMLSyntaxError, AssertionError, ValueError):
        return None, False
    stopped = any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log)
    return tree, stopped


def _without_scripts(markup: str) -> str:
    """Return ``markup`` without scripts, styles and drawings. JSON-LD is kept. Takes linear time."""
    kept: list[str] = []
    at = 0
    while match := _SCRIPT.search(markup, at):
        end = _SCRIPT_END.search(markup, match.end())
        stop = markup.find(">", end.end()) + 1 if end else 0
        if not stop:
            break
        # JSON-LD has data of the article. Its type is among the first attributes of the tag.
        keep = "ld+json" in markup[match.start() : match.start() + 300]
        kept.append(markup[at : stop if keep else match.start()])
        at = stop
    kept.append(markup[at:])
    return "".join(kept)


MAX_ASIDE = 60
"""Maximum length of a text that :func:`_without_asides` removes."""

_AROUND_COUNT = " \t\r\n\xa0()[]+"
_COUNTS = re.compile(
    r"comment|(?:com|share|like|view|vote|reply|replies)s?[_-]{0,2}(?:count|number)", re.IGNORECASE
)
_OPENS = re.compile(
    r"^\W*(?:(?:this )?(?:external )?(?:link )?(?:will )?opens? (?:external link )?in (?:a )?new "
    r"(?:tab|window)|"
    r"opens new (?:tab|window)|(?:link )?wird in einem neuen (?:tab|fenster) geöffnet|"
    r"(?:link )?(?:öffnet|oeffnet) (?:sich )?(?:in einem|im) neuen (?:tab|fenster)|"
    r"(?:s['’])?ouvre (?:dans )?une? (?:nouvel onglet|nouvelle fenêtre)|nouvelle fenêtre|"
    r"(?:se )?abre en (?:una )?nueva (?:ventana|pestaña)|abre (?:em|numa) (?:uma )?nova (?:janela|aba)|"
    r"(?:si )?apre in una nuova (?:finestra|scheda)|opent in (?:een )?nieuw (?:venster|tabblad)|"
    r"åpnes i (?:et )?nytt vindu|öppnas i (?:ett )?nytt fönster|"
    r"откро?ется в новом окне|открывается в нов(?:ом окне|ой вкладке))\W*$",
    re.IGNORECASE,
)


def _without_asides(elements: Iterable[HtmlElement]) -> None:
    """Remove the text of ``elements`` (links, spans, superscripts) if it is a note and not part of a
    sentence.

    Some sites let readers comment on each paragraph, and print the number of comments before its first word:
    ``<p><a class="comments_count">0</a>The mayor said``. Some links have a note for screen readers, which
    says that the link opens a new window. Such notes would appear in the middle of sentences.
    """
    for element in elements:
        text = element.text
        if text and len(text) <= MAX_ASIDE and not len(element) and _is_aside(element, text):
            element.text = None


def _is_aside(element: HtmlElement, text: str) -> bool:
    if text.strip(_AROUND_COUNT).isdecimal():
        return _COUNTS.search(f"{element.get('class') or ''} {element.get('id') or ''}"[:300]) is not None
    return element.tag == "span" and _OPENS.match(text) is not None


# --- the page

MAX_TIMES = 200
"""Maximum number of ``<time>`` elements that are collected."""
MAX_HEADLINES = 50
"""Maximum number of ``<h1>`` elements that are collected."""
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


_MARKS = frozenset({"itemprop", "itemtype", "property", "aria-controls", "data-target", "data-bs-target"})
_CODE = frozenset({"script", "style"})


def marked(tree: HtmlElement) -> list[HtmlElement]:
    """Return the elements with microdata or RDFa, and the controls of other elements, in page order.

    Each walk over a page takes about half a millisecond, so all that need such elements share this one.
    """
    return [element for element in tree.iter(etree.Element) if not _MARKS.isdisjoint(element.keys())]


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


def text_of(element: HtmlElement, limit: int = 20_000) -> str:
    """Return the text of an element on one line, without scripts.

    Reading stops after about ``limit`` characters.
    """
    parts: list[str] = []
    length = 0
    for part in pieces_of(element):
        parts.append(part)
        length += len(part)
        if length > limit:
            break
    return squash("".join(parts))


def pieces_of(element: HtmlElement) -> Iterator[str]:
    """Yield the texts in an element in document order. At most :data:`MAX_STEPS` tags are visited.

    Inline elements may be inside a word (``<b>T</b>he``). So only other elements are separated by a space.
    """
    if not len(element):
        if element.text and element.tag not in _CODE:
            yield element.text
        return
    # lxml stores the text after an element as the tail of the element. Reading the tail at the end event
    # keeps the document order.
    for event, inner in islice(etree.iterwalk(element, events=("start", "end")), MAX_STEPS):
        if inner.tag not in PHRASING:
            yield " "
        if event == "end":
            if inner.tail and inner is not element:
                yield inner.tail
        elif inner.text and inner.tag not in _CODE:
            yield inner.text


def _nearest_scope(element: HtmlElement) -> HtmlElement | None:
    """Return the innermost element with ``itemscope`` around ``element``, or None."""
    for ancestor in element.iterancestors():
        if ancestor.get("itemscope") is not None:
            return ancestor
    return None
