"""Reads DOCX, ODT, RTF, Markdown and plain text.

DOCX and ODT files are ZIP archives of XML files. :class:`Contents` is what is known of a document of any
format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from lxml import etree

from newsbot.pages.text.codings import decode

MAX_CHARACTERS = 1_500_000
"""Maximum number of characters of a text. The rest is left out."""
MAX_BLOCKS = 15_000
"""Maximum number of paragraphs. The rest is left out."""
MAX_TITLE = 250
"""Maximum length of a paragraph that can be a title."""
_FIRST = 12
"""Number of paragraphs at the beginning among which the title is."""
_LETTER = re.compile(r"[^\W\d_]")
_WORDS = re.compile(r"\w+")
# e.g. "Microsoft Word - release.doc", "scan_0012.pdf", "untitled"
_NO_TITLE = re.compile(
    r"^microsoft (?:word|powerpoint)|\.(?:docx?|odt|rtf|pdf|indd|tex|txt|md)$|^\(?unspecified\)?$|^untitled",
    re.IGNORECASE,
)
_SENTENCE_END = tuple(".。؟!…;:,۔।")


class RefusedError(Exception):
    """The document cannot be read. ``str(error)`` is the token of the reason."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph (``p``), an item of a list (``li``) or a heading (``h1`` to ``h6``)."""

    tag: str
    text: str


@dataclass(slots=True)
class Contents:
    """What is read from a document."""

    title: str = ""
    """The title that the document states in its metadata; after :meth:`finish`, the title."""
    authors: list[str] = field(default_factory=list)
    published: str | None = None
    """Date and time in ISO format."""
    modified: str | None = None
    language: str | None = None
    blocks: list[Block] = field(default_factory=list)
    complete: bool = True
    """False if only the beginning of the document was read."""

    def finish(self) -> None:
        """Tidy all strings, choose the title and remove it from the text, and shorten a text that is too
        long."""
        tidy = [Block(one.tag, " ".join(one.text.split())) for one in self.blocks]
        self.blocks = [one for one in tidy if _LETTER.search(one.text)]
        self.authors = [name for one in self.authors for name in _names(one)]
        self._choose_title()
        length = 0
        for number, one in enumerate(self.blocks, 1):
            length += len(one.text)
            if length > MAX_CHARACTERS or number > MAX_BLOCKS:
                self.complete, self.blocks = False, self.blocks[: number - 1]
                break

    def _choose_title(self) -> None:
        """Choose the title. The order is: the stated title if the text shows it, the main heading, a first
        paragraph that looks like a headline, and the stated title if it does not look like a file name."""
        stated, first = " ".join(self.title.split()), self.blocks[:_FIRST]
        self.title = ""
        place = next((at for at, one in enumerate(first) if stated and _same(one.text, stated)), None)
        if place is None:
            place = next((at for at, one in enumerate(first) if one.tag == "h1" and _may_be(one)), None)
        begins = len(first) > 1 and _may_be(first[0]) and not first[0].text.endswith(_SENTENCE_END)
        if place is None and begins:
            place = 0
        if place is not None:
            self.title = first[place].text
            del self.blocks[place]
        elif stated and not _NO_TITLE.search(stated) and len(_WORDS.findall(stated)) > 1:
            self.title = stated


def _same(text: str, stated: str) -> bool:
    return _WORDS.findall(text.casefold()) == _WORDS.findall(stated.casefold())


def _may_be(block: Block) -> bool:
    return len(block.text) <= MAX_TITLE


def _names(text: str) -> list[str]:
    """Return the names of authors. Names of user accounts, such as ``admin``, are left out."""
    names = [" ".join(one.split()) for one in re.split(r"[;\n]", text)]
    return [one for one in names if len(one) > 1 and (" " in one or not one.isascii()) and len(one) <= 100]


MAX_PART = 60 * 2**20
"""Maximum size in bytes of one unpacked file of the archive."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_DCTERMS = "{http://purl.org/dc/terms/}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_MANIFEST_ENCRYPTION = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}encryption-data"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DOCX_WITHOUT = frozenset((_FALLBACK, f"{_W}del", f"{_W}moveFrom", f"{_W}instrText", f"{_W}p"))
"""Elements whose text does not belong to the paragraph around them: deleted text, codes, other paragraphs."""
_ODT_WITHOUT = frozenset((f"{_TEXT}note", f"{_OFFICE}annotation", f"{_TEXT}p", f"{_TEXT}h"))
_ODT_NO_TEXT = (f"{_TEXT}tracked-changes", f"{_TEXT}table-of-content", f"{_TEXT}note", f"{_OFFICE}annotation")
_ODT_BLANKS = (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break")


def read_docx(body: bytes) -> Contents:
    """Return the contents of a DOCX file. Raises :class:`RefusedError`, and errors of zipfile and lxml."""
    archive = _open(body)
    main = next(
        (name for name in archive.namelist() if name.startswith("word/document")), "word/document.xml"
    )
    contents = _metadata(
        _part(archive, "docProps/core.xml"),
        authors=(f"{_DC}creator",),
        published=(f"{_DCTERMS}issued", f"{_DCTERMS}created"),
        modified=f"{_DCTERMS}modified",
    )
    styles = _docx_styles(_part(archive, "word/styles.xml"))
    tree = _part(archive, main)
    if tree is None:
        raise RefusedError("damaged")
    for paragraph in tree.iter(f"{_W}p"):
        if next(paragraph.iterancestors(_FALLBACK), None) is None:
            contents.blocks.append(Block(_docx_tag(paragraph, styles), "".join(_docx_text(paragraph))))
    return contents


def read_odt(body: bytes) -> Contents:
    """Return the contents of an ODT file. Raises :class:`RefusedError`, and errors of zipfile and lxml."""
    archive = _open(body)
    manifest = _part(archive, "META-INF/manifest.xml")
    if manifest is not None and next(manifest.iter(_MANIFEST_ENCRYPTION), None) is not None:
        raise RefusedError("encrypted")
    contents = _metadata(
        _part(archive, "meta.xml"),
        authors=(f"{_META}initial-creator", f"{_DC}creator"),
        published=(f"{_META}creation-date", f"{_DC}date"),
        modified=f"{_DC}date",
    )
    tree = _part(archive, "content.xml")
    text = None if tree is None else next(tree.iter(f"{_OFFICE}text"), None)
    if tree is None or text is None:
        raise RefusedError("damaged")
    parents = {
        one.get(f"{_STYLE}name"): one.get(f"{_STYLE}parent-style-name") for one in tree.iter(f"{_STYLE}style")
    }
    for paragraph in text.iter(f"{_TEXT}p", f"{_TEXT}h"):
        if next(paragraph.iterancestors(*_ODT_NO_TEXT), None) is None:
            contents.blocks.append(Block(_odt_tag(paragraph, parents), "".join(_odt_text(paragraph))))
    return contents


def _open(body: bytes) -> ZipFile:
    archive = ZipFile(BytesIO(body))
    if any(one.flag_bits & 1 for one in archive.infolist()):
        raise RefusedError("encrypted")
    return archive


def _part(archive: ZipFile, name: str) -> etree._Element | None:
    """Return the root of an XML file of the archive; None if there is no such file."""
    if name not in archive.namelist():
        return None
    with archive.open(name) as file:
        xml = file.read(MAX_PART + 1)
    if len(xml) > MAX_PART:
        raise RefusedError("too_complex")
    # Entities are not replaced, because a few lines of them can stand for gigabytes of text.
    return etree.fromstring(
        xml, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    )


def _value(tree: etree._Element, *names: str) -> str:
    """Return the text of the first element with one of these names; the first name is preferred."""
    found = (one.text.strip() for name in names for one in tree.iter(name) if one.text and one.text.strip())
    return next(found, "")


def _metadata(
    tree: etree._Element | None, *, authors: tuple[str, ...], published: tuple[str, ...], modified: str
) -> Contents:
    """Return what the metadata of a file say. The arguments name the elements that have the values."""
    if tree is None:
        return Contents()
    return Contents(
        title=_value(tree, f"{_DC}title"),
        authors=[_value(tree, *authors)],
        published=_value(tree, *published) or None,
        modified=_value(tree, modified) or None,
        language=_value(tree, f"{_DC}language") or None,
    )


# --- DOCX
def _docx_styles(tree: etree._Element | None) -> dict[str, str]:
    """Return the names of the styles by their ids. Ids depend on the language of Word, these names do not."""
    if tree is None:
        return {}
    return {
        one.get(f"{_W}styleId", ""): name.get(f"{_W}val", "").lower()
        for one in tree.iter(f"{_W}style")
        if (name := one.find(f"{_W}name")) is not None
    }


def _docx_tag(paragraph: etree._Element, styles: dict[str, str]) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    id_ = "" if style is None else style.get(f"{_W}val", "")
    name = styles.get(id_, id_.lower())
    if name in ("title", "heading 1", "heading1"):
        return "h1"
    if name.startswith("heading"):
        return "h2"
    return "p" if paragraph.find(f"{_W}pPr/{_W}numPr") is None else "li"


def _docx_text(element: etree._Element) -> Iterator[str]:
    """Yield the strings of a paragraph."""
    for one in element:
        if one.tag == f"{_W}t":
            yield one.text or ""
        elif one.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
            yield " "
        elif one.tag not in _DOCX_WITHOUT:
            yield from _docx_text(one)


# --- ODT
def _odt_tag(paragraph: etree._Element, parents: dict[str | None, str | None]) -> str:
    style = paragraph.get(f"{_TEXT}style-name")
    if "Title" in (style, parents.get(style)):
        return "h1"
    if paragraph.tag == f"{_TEXT}h":
        return "h1" if paragraph.get(f"{_TEXT}outline-level", "1") == "1" else "h2"
    return "p" if next(paragraph.iterancestors(f"{_TEXT}list-item"), None) is None else "li"


def _odt_text(element: etree._Element) -> Iterator[str]:
    """Yield the strings of a paragraph."""
    yield element.text or ""
    for one in element:
        if one.tag in _ODT_BLANKS:
            yield " "
        elif one.tag not in _ODT_WITHOUT:
            yield from _odt_text(one)
        yield one.tail or ""


MIN_PARAGRAPHS = 2
"""Minimum number of paragraphs of a plain text after its headline. Logs and tables have none."""
_RTF_INFO = re.compile(r"\{\\info\b(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_RTF_FIELD = r"\{\\%s\b ?((?:[^{}\\]|\\[^{}])*)\}"
_RTF_TIME = re.compile(r"\{\\(creatim|revtim)((?:\\(?:yr|mo|dy|hr|min|sec)\d+)+)\}")
_RTF_NUMBER = re.compile(r"\\(yr|mo|dy|hr|min)(\d+)")
_CODE_PAGE = re.compile(r"\\ansicpg\d+")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_WRAPPED = re.compile(r"\S[^\n]{60,}\n\S[^\n]*\n\s*\n")
_HARD_WRAP = 100
"""A text in which no line is longer has its lines broken by hand. Then blank lines separate paragraphs."""


def read_rtf(body: bytes) -> Contents:
    """Return the contents of an RTF file."""
    from striprtf.striprtf import rtf_to_text

    source = body.decode("latin-1")
    if source.count("{") != source.count("}") and not source.rstrip("\0\r\n \x1a").endswith("}"):
        raise RefusedError("damaged")  # the end is missing
    contents = Contents()
    code_page = found[0] if (found := _CODE_PAGE.search(source)) else ""
    info = found[0] if (found := _RTF_INFO.search(source)) else ""

    def stated(name: str) -> str:
        field = re.search(_RTF_FIELD % name, info)
        return (
            "" if field is None else rtf_to_text(f"{{\\rtf1\\ansi{code_page} {field[1]}}}", errors="ignore")
        )

    contents.title, contents.authors = stated("title"), [stated("author")]
    times = {name: _rtf_time(numbers) for name, numbers in _RTF_TIME.findall(info)}
    contents.published, contents.modified = times.get("creatim"), times.get("revtim")
    text = rtf_to_text(source, errors="ignore")
    contents.blocks = [Block("p", line) for line in text.splitlines()]
    return contents


def _rtf_time(numbers: str) -> str | None:
    parts = {name: int(number) for name, number in _RTF_NUMBER.findall(numbers)}
    if not {"yr", "mo", "dy"} <= parts.keys():
        return None
    day = f"{parts['yr']:04}-{parts['mo']:02}-{parts['dy']:02}"
    return f"{day}T{parts['hr']:02}:{parts.get('min', 0):02}:00" if "hr" in parts else day


def read_text(body: bytes, charset: str = "") -> Contents:
    """Return the contents of a plain text. Its first paragraph must be a headline."""
    lines = decode(body, charset or None).splitlines()
    text = "\n".join(lines)
    # Blank lines may separate some paragraphs of several lines.
    is_wrapped = not any(len(line) > _HARD_WRAP for line in lines) or _WRAPPED.search(text)
    paragraphs = re.split(r"\n\s*\n", text) if is_wrapped else lines
    contents = Contents(blocks=[Block("p", one) for one in paragraphs if one.strip()])
    if len(contents.blocks) <= MIN_PARAGRAPHS:
        raise RefusedError("no_title")
    return contents


def read_markdown(body: bytes, charset: str = "") -> Contents:
    """Return the contents of a text in Markdown, with the metadata of its front matter (YAML)."""
    from markdown_it import MarkdownIt

    text = "\n".join(decode(body, charset or None).splitlines())
    contents = Contents()
    if found := _FRONT_MATTER.match(text):
        text = text[found.end() :]
        _read_front_matter(found[1], contents)
    tags: list[str] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.nesting > 0:
            tags.append(token.tag)
        elif token.nesting < 0:
            tags.pop()
        elif token.type == "inline":
            words = "".join(
                " " if one.type in ("softbreak", "hardbreak") else one.content
                for one in token.children or ()
                if one.type in ("text", "code_inline", "softbreak", "hardbreak")
            )
            tag = "li" if "li" in tags else "p"
            contents.blocks.append(Block(tags[-1] if re.fullmatch("h[1-6]", tags[-1]) else tag, words))
    return contents


def _read_front_matter(source: str, contents: Contents) -> None:
    import yaml

    try:
        stated = yaml.safe_load(source)
    except yaml.YAMLError:
        return
    if not isinstance(stated, dict):
        return
    authors = stated.get("authors") or stated.get("author") or []
    contents.title = str(stated.get("title") or "")
    contents.authors = [_name(one) for one in (authors if isinstance(authors, list) else [authors])]
    contents.published, contents.modified = _moment(stated.get("date")), _moment(stated.get("updated"))
    contents.language = next((str(stated[one]) for one in ("lang", "language") if stated.get(one)), None)


def _name(value: Any) -> str:
    return str(value.get("name") or "") if isinstance(value, dict) else str(value)


def _moment(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, date) else str(value) if value else None
