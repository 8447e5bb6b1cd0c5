"""Reads DOCX and ODT files: ZIP archives of XML files."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from zipfile import ZipFile

from lxml import etree

from newsbot.apps.documents.contents import Block, Contents, RefusedError

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
    contents = _core_properties(_part(archive, "docProps/core.xml"))
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
    contents = _odt_metadata(_part(archive, "meta.xml"))
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


# --- DOCX
def _core_properties(tree: etree._Element | None) -> Contents:
    if tree is None:
        return Contents()
    return Contents(
        title=_value(tree, f"{_DC}title"),
        authors=[_value(tree, f"{_DC}creator")],
        published=_value(tree, f"{_DCTERMS}issued", f"{_DCTERMS}created") or None,
        modified=_value(tree, f"{_DCTERMS}modified") or None,
        language=_value(tree, f"{_DC}language") or None,
    )


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
def _odt_metadata(tree: etree._Element | None) -> Contents:
    if tree is None:
        return Contents()
    return Contents(
        title=_value(tree, f"{_DC}title"),
        authors=[_value(tree, f"{_META}initial-creator", f"{_DC}creator")],
        published=_value(tree, f"{_META}creation-date", f"{_DC}date") or None,
        modified=_value(tree, f"{_DC}date") or None,
        language=_value(tree, f"{_DC}language") or None,
    )


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
