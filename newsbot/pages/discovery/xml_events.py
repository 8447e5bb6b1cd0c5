"""Reads XML as events, with expat if it is well formed and with a lenient reader otherwise.

The lenient reader accepts ``&`` without an entity and knows the entities of HTML. It does not need matching
tags or declared prefixes. If a document is cut off, it reads the document up to the cut. Neither reader
expands declarations (DTD, entities), builds a tree, or recurses into nested elements. Both take time linear
in the length of the text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from html.entities import html5
from typing import Any, Literal, TypeVar
from xml.parsers import expat

_SHORT = {
    "http://www.w3.org/xml/1998/namespace": "xml",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss2": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.org/atom/ns#": "",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
    "http://www.google.com/schemas/sitemap/0.84": "",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/elements/1.0": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.pheedo.com/namespace/pheedo": "pheedo",
    "http://search.yahoo.com/mrss": "media",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
    "http://www.w3.org/1999/xhtml": "html",
}
_USUAL_PREFIXES = {
    "atom": "", "atom10": "", "a10": "", "a": "", "rss": "", "sm": "", "ns": "", "xml": "xml", "rdf": "rdf",
    "dc": "dc", "dcterms": "dcterms", "sy": "sy", "content": "content", "feedburner": "feedburner",
    "pheedo": "pheedo", "media": "media", "news": "news", "xhtml": "html",
}  # fmt: skip
"""The meaning of common prefixes that a document uses without declaring them."""


@lru_cache(maxsize=2048)
def short_name(uri: str, local: str, prefix: str) -> str:
    """Return the short name of an element or attribute, in lower case, e.g. ``dc:date``.

    ``uri`` is the namespace of the name, or "" if the prefix is not declared. A name in an unknown namespace
    gets the prefix ``x`` if it has a prefix in the document.
    """
    short = _SHORT.get(uri.lower().replace("https://", "http://").rstrip("/")) if uri else None
    if short is None:
        if not prefix:
            short = ""
        elif uri:
            short = "x"
        else:
            short = _USUAL_PREFIXES.get(prefix.lower(), "x")
    return f"{short}:{local.lower()}" if short else local.lower()


CHUNK = 1 << 20
"""Number of characters that are parsed at once."""
_MAX_ATTRIBUTES = 1 << 16
_MAX_HELD = 1 << 22
"""Maximum number of characters that are buffered until the end of a tag or text. Longer tags and texts are
split."""
_MAX_PREFIXES = 100
_MAX_NAME = 300
_SEPARATOR = " "


Flaw = Literal["cut_off", "trailing_junk"]
_FLAWS: dict[int, Flaw] = {
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]: "cut_off",
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN]: "cut_off",
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION]: "cut_off",
    expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]: "trailing_junk",
}


class Handler(ABC):
    """Receives the events of a document, and collects the text of one element. For names see
    :func:`short_name`."""

    def __init__(self) -> None:
        self.wants_text = False
        """If False, :meth:`data` need not be called until the value changes."""
        self._parts: list[str] = []
        self._size, self._most = 0, 0

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle an opening tag."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle a closing tag. The lenient reader may omit a closing tag, or report it without an opening
        tag."""

    def data(self, text: str) -> None:
        """Handle text. The text of an element may arrive in parts."""
        if self._size < self._most:
            self._parts.append(text[: self._most])
            self._size += len(text)

    def begin_text(self, most: int) -> None:
        """Collect the following text, at most about ``most`` characters."""
        self._parts, self._size, self._most = [], 0, most
        self.wants_text = True

    def end_text(self) -> str:
        """End the collection and return the text."""
        self.wants_text = False
        return "".join(self._parts)


_Handler = TypeVar("_Handler", bound=Handler)


class Malformed(ValueError):
    """Raised if the text is not well-formed XML, or has a DTD. The lenient reader can read such texts."""


class Enough(Exception):
    """Raised by a handler to end the reading."""


def read(chunks: Callable[[], Iterable[str]], make: Callable[[], _Handler]) -> tuple[_Handler, str | None]:
    """Read a document. If it is not well formed, it is read again with the lenient reader.

    ``make`` returns a new handler. Returns the handler that has received the events, and the fault of the
    document: ``malformed``, a :data:`Flaw`, or None.
    """
    handler = make()
    try:
        return handler, read_strictly(chunks(), handler)
    except Malformed:
        # The chunks are created again, so that the whole text need not be kept in memory.
        handler = make()
        read_loosely(chunks(), handler)
        return handler, "malformed"


def pieces(text: str) -> Iterator[str]:
    """Split ``text`` into chunks for the readers."""
    return (text[at : at + CHUNK] for at in range(0, len(text), CHUNK))


def read_strictly(chunks: Iterable[str], handler: Handler) -> Flaw | None:
    """Read well-formed XML. Return a :data:`Flaw` if it is cut off or followed by other text, else None.

    Raises :class:`Malformed` for any other fault. In this case the handler has received only some of the
    events, and the document must be read again with a new handler.
    """
    parser = expat.ParserCreate("utf-8", _SEPARATOR)
    # with this argument, names are "uri local prefix", see _expanded()
    parser.namespace_prefixes = True
    parser.buffer_text = True  # fewer calls, because neighbouring texts are joined

    def start(name: str, attributes: dict[str, str]) -> None:
        handler.start(_expanded(name), {_expanded(key): value for key, value in attributes.items()})

    def data(text: str) -> None:
        if handler.wants_text:
            handler.data(text)

    def doctype(*_declaration: Any) -> None:
        raise Malformed("DTD")  # expat would expand its entities, which can grow without limit

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: handler.end(_expanded(name))
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = doctype
    fed = 0
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
            fed += len(chunk)
            # Expat parses an unfinished token again with each chunk, which takes quadratic time for a long
            # token.
            if parser.CurrentByteIndex < fed - 2 * CHUNK:
                raise Malformed("token too long")
        parser.Parse("", True)
    except expat.ExpatError as error:
        flaw = _FLAWS.get(error.code)
        if flaw is None:
            raise Malformed(str(error)) from None
        return flaw
    except Enough:
        return None
    return None


def _expanded(name: str) -> str:
    if len(name) > _MAX_NAME:
        return "x:"
    if _SEPARATOR not in name:
        return name.lower()
    uri, local, *prefix = name.split(_SEPARATOR)
    return short_name(uri, local, prefix[0] if prefix else "")


# &#8217; and &#x2019; and &rsquo;
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")
# characters that XML 1.0 does not allow
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# The beginning of a tag, CDATA, a comment, an instruction or a declaration. "<" before anything else is text.
_TOKEN = re.compile(r"<(?:(?P<close>/)?(?P<name>[A-Za-z_][\w:.\-]{0,99})|!\[CDATA\[|!--|\?|![A-Za-z])")
_TAG_REST = re.compile(r"""(?=((?:[^<>"']+|"[^"<]*"|'[^'<]*')*))\1>""")
"""Matches the rest of a tag. Quoted values may contain ``>``. A lookahead never backtracks, so the search is
linear. Python before 3.11.5 matches possessive groups with alternatives, ``(?:…|…)*+``, wrongly."""
_BROKEN_REST = re.compile(r"([^<>]*+)>?")
"""Matches the rest of a tag with an unclosed quote, up to the next bracket."""
# name="value", name='value' or name=value. The look-behind prevents a match that begins inside a name.
_ATTRIBUTE = re.compile(r"""(?<![\w:.\-])([\w:.\-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'>]++))""")
_ENDS = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}


def unescape(text: str) -> str:
    """Replace entities of HTML and character references if they end in ``;``.

    ``html.unescape`` would also replace ``&copy`` in ``?a=1&copy=2``.
    """
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return html5.get(name + ";", match[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    valid = 0x20 <= code < 0xD800 or 0xE000 <= code < 0x110000 or code in (9, 10, 13)
    return chr(code) if valid else "\ufffd"


def read_loosely(chunks: Iterable[str], handler: Handler) -> None:
    """Read anything that looks like XML. Never raises."""
    reader = _LooseReader(handler)
    held = ""
    try:
        for chunk in chunks:
            text = held + _CONTROL.sub("", chunk)
            # Without this limit, a tag that does not end would be kept and searched again with each chunk.
            held = text[reader.read(text, final=len(text) > _MAX_HELD) :]
        reader.read(held, final=True)
    except Enough:
        return


class _LooseReader:
    """Passes tags, text and CDATA to a handler, in document order."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._prefixes: dict[str, str] = {}

    def read(self, text: str, *, final: bool) -> int:
        """Parse ``text``. Return the number of characters that were used. If ``final`` is True, all
        characters are used."""
        position = 0
        while match := _TOKEN.search(text, position):
            self._text(text[position : match.start()])
            end = self._tag(text, match, final) if match["name"] else self._other(text, match, final)
            if end is None:
                return match.start()
            position = end
        keep = len(text) if final else _safe_end(text, position)
        self._text(text[position:keep])
        return keep

    def _text(self, text: str) -> None:
        if text and self._handler.wants_text:
            self._handler.data(unescape(text))

    def _other(self, text: str, match: re.Match[str], final: bool) -> int | None:
        """Handle CDATA, a comment, an instruction or a DOCTYPE. Return the position after it.

        If the end is missing, the end of the document counts as the end. Return None if the end may be in the
        next chunk.
        """
        mark = _ENDS.get(match[0])
        begin = match.end()
        if mark is None:  # a DOCTYPE, perhaps with inner declarations in [ ]
            close = text.find(">", begin)
            # If there is no ">", close + 1 is 0, and the whole rest is searched.
            mark = "]>" if "[" in text[begin : close + 1 or None] else ">"
        end = text.find(mark, begin)
        if end < 0 and not final:
            return None
        if match[0] == "<![CDATA[" and self._handler.wants_text:
            self._handler.data(text[begin : end if end >= 0 else len(text)])
        return end + len(mark) if end >= 0 else len(text)

    def _tag(self, text: str, match: re.Match[str], final: bool) -> int | None:
        rest = _TAG_REST.match(text, match.end()) or _BROKEN_REST.match(text, match.end())
        if rest is None:  # never happens: the second pattern also matches the empty text
            return match.end()
        # the end of the tag is in the next chunk
        if rest.end() == len(text) and not rest[0].endswith(">") and not final:
            return None
        inner = rest[1]
        if match["close"]:
            self._handler.end(self._name(match["name"]))
            return rest.end()
        empty = inner.endswith("/")
        attributes = self._attributes(inner[:_MAX_ATTRIBUTES]) if "=" in inner else {}
        name = self._name(match["name"])
        self._handler.start(name, attributes)
        if empty:
            self._handler.end(name)
        return rest.end()

    def _attributes(self, inner: str) -> dict[str, str]:
        found = {}
        for name, *values in _ATTRIBUTE.findall(inner):
            value = unescape("".join(values))
            if name.startswith("xmlns:"):
                if len(self._prefixes) < _MAX_PREFIXES:
                    self._prefixes[name[6:]] = value
            # "xmlns" is ignored, because the namespace of inner XHTML would otherwise apply to the whole rest
            elif name != "xmlns":
                found[self._name(name)] = value
        return found

    def _name(self, written: str) -> str:
        prefix, colon, local = written.partition(":")
        if not colon:
            return written.lower()
        return short_name(self._prefixes.get(prefix, ""), local, prefix)


def _safe_end(text: str, position: int) -> int:
    """Return the end of the text that can be used now.

    A tag or entity that is cut off at the end is used together with the next chunk.
    """
    # an entity, or the beginning of a tag that _TOKEN cannot match yet, is shorter than 120 characters
    tail = max(position, len(text) - 120)
    cuts = [cut for mark in "<&" if (cut := text.rfind(mark, tail)) >= 0]
    return min(cuts, default=len(text))
