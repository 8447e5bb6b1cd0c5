"""Parses the bytes of a page into a tree, with bounded time and memory for any input.

The ``html``, ``head`` and ``body`` tags are repaired first. By the HTML standard
(https://html.spec.whatwg.org/multipage/parsing.html), they may be omitted or repeated, and text after
``</html>`` belongs to the body. libxml2 loses such text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from newsbot.errors import NotAnArticle
from newsbot.pages.extraction.visible import text_of
from newsbot.pages.text.codings import decode_as, detect, encoding_of_links, with_encoded_query
from newsbot.pages.text.languages import compiled

# A lookahead with a group, and the group after it, never backtrack. Python before 3.11.5 matches possessive
# groups with alternatives, (?:…|…)*+, wrongly (https://github.com/python/cpython/issues/106052).
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<raw>script|style|title|noscript|template|textarea|svg)(?=[\s>/])[^>]*+(?:(?<=/)>|>.*?(?:</(?P=raw)(?=[\s>/])[^>]*+>|\Z))"
    r"|<(?P<end>/?)(?P<shell>html|head|body)(?=[\s>/])(?=(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*))(?P=attributes)>"
    r"|<[!?][^>]*+>"
    r"|</?(?P<other>[a-z][^\s>/]*+)[^>]*+>",
    re.IGNORECASE | re.DOTALL,
)
_IN_HEAD = frozenset({
    "script", "style", "title", "noscript", "template", "meta", "link", "base", "basefont", "bgsound",
})  # fmt: skip
_MOST_ATTRIBUTES = 2000
"""Number of characters after which no more attributes of repeated tags are kept."""
_SHELL_END = re.compile(r"</html[^>]*>(?:\s|<!--(?:(?!-->).)*-->)*", re.IGNORECASE | re.DOTALL)
_CLOSED = re.compile(r"<(?:html|head|body)(?=[\s/])[^>]{0,300}/>", re.IGNORECASE)


def is_odd(markup: str) -> bool:
    """True if libxml2 would read the shell of a page in another way than browsers."""
    # Most pages write these tags in lower case. A page that does not is repaired without need.
    end = markup.find("</html")
    if markup.count("<body") != 1 or (end >= 0 and _SHELL_END.fullmatch(markup, end) is None):
        return True
    return _CLOSED.search(markup) is not None


def with_standard_shell(markup: str) -> str:
    """Return ``markup`` with one ``html``, ``head`` and ``body``. Takes linear time."""
    head: list[str] = []
    body: list[str] = []
    attributes = {"html": "", "body": ""}
    parts = head
    at = 0
    # Without the limit, each tag that is not closed would be searched for ">" up to the end of the page.
    last = markup.rfind(">") + 1
    for token in _TOKEN.finditer(markup, 0, last):
        # In the body, text and tags are copied together, up to the next part that is not copied.
        if parts is body and token.lastgroup in ("raw", "other"):
            continue
        between = markup[at : token.start()]
        at = token.end()
        if at == last and token[0].startswith("<!--") and not token[0].endswith(("-->", "--!>")):
            at = len(markup)  # a comment without an end
        if between and not between.isspace():
            parts = body
        parts.append(between)
        name = (token["shell"] or "").lower()
        if name:
            if name in attributes and not token["end"] and len(attributes[name]) < _MOST_ATTRIBUTES:
                # The first value of an attribute counts, as in libxml2.
                attributes[name] += " " + token["attributes"].strip().rstrip("/")
            if name == "body" and not token["end"]:
                parts = body
        elif found := token["raw"] or token["other"]:
            if parts is head and found.lower() not in _IN_HEAD:
                parts = body
            parts.append(token[0])
    body.append(markup[at:])
    return (
        f"<!DOCTYPE html><html{attributes['html']}><head>{''.join(head)}</head>"
        f"<body{attributes['body']}>{''.join(body)}</body></html>"
    )


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
OPENS = r"^\W*%(new_windows)s\W*$"


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
    return element.tag == "span" and compiled(OPENS).match(text) is not None


MAX_HEADLINES = 50
"""Maximum number of ``<h1>`` elements that are collected."""
