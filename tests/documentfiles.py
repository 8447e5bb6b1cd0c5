"""Makes small documents: PDF, DOCX, ODT. Each has only what its format requires."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from html import escape
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

WORDPROCESSING = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">{}</cp:coreProperties>'
)
OPEN_DOCUMENT = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "meta", "style")
)

Line = tuple[float, str]
"""The font size and the text of a line, in the order of places; ``(0, "")`` is a larger distance."""


def pdf(
    pages: Sequence[Sequence[Line]],
    *,
    info: str = "",
    lang: str = "",
    encrypted: bool = False,
    from_right: bool = False,
    drawing: bytes = b"",
) -> bytes:
    """Return a PDF file. Its font has all characters of Unicode up to U+FFFF, by a ToUnicode map.

    ``from_right``: lines end at the right margin. ``drawing`` follows the lines of each page.
    """
    objects: list[bytes] = []

    def add(content: bytes) -> int:
        objects.append(content)
        return len(objects)

    def stream(content: bytes, entries: bytes = b"") -> int:
        packed = zlib.compress(content)
        return add(
            b"<<%s/Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (entries, len(packed), packed)
        )

    catalog, tree = add(b""), add(b"")
    ranges = "".join(f"<{high:02x}00> <{high:02x}ff> <{high:02x}00>\n" for high in range(256))
    cmap = (
        "/CIDInit /ProcSet findresource begin begincmap\n1 begincodespacerange\n<0000> <ffff>\n"
        "endcodespacerange\n"
        f"256 beginbfrange\n{ranges}endbfrange\nendcmap end"
    )
    unicode = stream(cmap.encode())
    descendant = add(
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Any/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        b"/Supplement 0>>/DW 500>>"
    )
    font = add(
        b"<</Type/Font/Subtype/Type0/BaseFont/Any/Encoding/Identity-H/DescendantFonts[%d 0 R]"
        b"/ToUnicode %d 0 R>>" % (descendant, unicode)
    )
    kids = []
    for lines in pages:
        drawn, y = [], 780.0
        for size, text in lines:
            y -= 1.2 * (size or 14)
            if text:
                x = 540 - len(text) * size / 2 if from_right else 60
                drawn.append(f"BT /F {size} Tf 1 0 0 1 {x} {y} Tm <{text.encode('utf-16-be').hex()}> Tj ET")
        content = stream("\n".join(drawn).encode() + b"\n" + drawing)
        kids.append(
            add(
                b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F %d 0 R>>>>"
                b"/Contents %d 0 R>>" % (tree, font, content)
            )
        )
    objects[catalog - 1] = b"<</Type/Catalog/Pages %d 0 R%s>>" % (
        tree,
        f"/Lang({lang})".encode() if lang else b"",
    )
    objects[tree - 1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (
        b" ".join(b"%d 0 R" % kid for kid in kids),
        len(kids),
    )
    about = add(b"<<%s>>" % info.encode("latin-1"))
    trailer = b"/Info %d 0 R" % about
    if encrypted:
        lock = add(b"<</Filter/Standard/V 2/R 3/Length 128/P -4/O<%s>/U<%s>>>" % (b"ab" * 32, b"cd" * 32))
        trailer += b"/Encrypt %d 0 R/ID[<00><00>]" % lock
    return _file(objects, b"/Root %d 0 R%s" % (catalog, trailer))


def text_string(text: str) -> str:
    """Return a string of a PDF file in UTF-16, for ``info``."""
    return f"<feff{text.encode('utf-16-be').hex()}>"


def _file(objects: Sequence[bytes], trailer: bytes) -> bytes:
    body, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d%s>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        table,
        len(objects) + 1,
        trailer,
        len(body),
    )


def archive(files: dict[str, str | bytes]) -> bytes:
    """Return a ZIP file."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content, None if name != "mimetype" else 0)
    return packed.getvalue()


def docx(paragraphs: Sequence[tuple[str, str]], *, core: str = "", more: str = "") -> bytes:
    """Return a DOCX file. Each paragraph has the id of a style and a text; ``more`` is markup at the end."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {WORDPROCESSING}><w:body>{body}{more}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {WORDPROCESSING}>"
            '<w:style w:styleId="a3"><w:name w:val="Title"/></w:style>'
            '<w:style w:styleId="2"><w:name w:val="heading 2"/></w:style></w:styles>',
            "docProps/core.xml": CORE.format(core),
        }
    )


def odt(content: str, *, meta: str = "", encrypted: bool = False) -> bytes:
    """Return an ODT file with the markup of its text."""
    lock = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>" if encrypted else ""
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {OPEN_DOCUMENT}><office:automatic-styles>"
            '<style:style style:name="P1" style:parent-style-name="Title"/></office:automatic-styles>'
            f"<office:body><office:text>{content}</office:text></office:body></office:document-content>",
            "meta.xml": f'<office:document-meta {OPEN_DOCUMENT} xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<office:meta>{meta}</office:meta></office:document-meta>",
            "META-INF/manifest.xml": "<manifest:manifest "
            f'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">{lock}</manifest:manifest>',
        }
    )
