"""Reads PDF files. The font sizes give the headings, the distances between lines give the paragraphs."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from statistics import median
from typing import Any

from pdfminer.high_level import extract_pages
from pdfminer.layout import LAParams, LTChar, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import resolve1
from pdfminer.utils import decode_text

from newsbot.apps.documents.formats import Block, Contents, RefusedError

MAX_PAGES = 150
"""Maximum number of pages that are read. A page takes 50 to 100 ms."""
_HEADING = 1.15
"""Minimum size of a heading, as a factor of the size of the text."""
_INDENT = 0.8
"""Minimum indent of the first line of a paragraph, as a factor of the font size."""
_SHORT_LINE = 0.85
"""Width of the last line of a paragraph at most, as a part of the width of the column."""
_REPEATED = 0.5
"""Lines on more than this part of the pages are headers and footers."""
_MIN_PAGES = 3
"""Minimum number of pages for which headers and footers are looked for."""
_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_RTL_LETTER = re.compile(f"[{_RTL}]")
_RTL_RUN = re.compile(f"[{_RTL}](?:[^A-Za-z0-9\u00c0-\u058f]*[{_RTL}])?")
_LTR_LETTER = re.compile("[A-Za-z\u00c0-\u058f]")
_LTR_RUN = re.compile(f"%?[A-Za-z0-9\u00c0-\u058f](?:[^{_RTL}]*[A-Za-z0-9\u00c0-\u058f])?")
# Points of vowels stand after their letter. In a reversed line they stand before it.
_POINTS = re.compile(f"([\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]+)([{_RTL}])")
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
# Ligatures, e.g. "ﬁ", and the forms of Arabic letters within words.
_FORMS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
_NO_LETTER = re.compile(r"\(cid:\d+\)")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]$")
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'?\d\d)?")
_ENDS = tuple('.!?:…。؟۔।"»”)')


@dataclass(slots=True)
class _Paragraph:
    text: str
    size: float
    page: int


def read_pdf(body: bytes) -> Contents:
    """Return the contents of a PDF file. Raises :class:`RefusedError`, and errors of pdfminer."""
    contents = Contents()
    try:
        document = PDFDocument(PDFParser(BytesIO(body)))
        _read_metadata(document, contents)
        paragraphs: list[_Paragraph] = []
        number = 0
        for number, page in enumerate(
            extract_pages(BytesIO(body), maxpages=MAX_PAGES + 1, laparams=LAParams()), 1
        ):
            if number > MAX_PAGES:
                contents.complete = False
                break
            for box in page:
                if isinstance(box, LTTextBox):
                    paragraphs += (_Paragraph(text, size, number) for text, size in _split(box))
    except (PDFPasswordIncorrect, PDFEncryptionError) as error:
        raise RefusedError("encrypted") from error
    if not paragraphs:
        raise RefusedError("no_text")  # a scan, or a drawing
    paragraphs = _without_running_lines(paragraphs, number)
    contents.blocks = _blocks(_joined(paragraphs))
    return contents


def _read_metadata(document: PDFDocument, contents: Contents) -> None:
    stated: dict[str, Any] = {}
    for one in document.info:
        stated |= one
    contents.title = _string(stated.get("Title"))
    contents.authors = [_string(stated.get("Author"))]
    contents.published = _date(_string(stated.get("CreationDate")))
    contents.modified = _date(_string(stated.get("ModDate")))
    contents.language = _string(document.catalog.get("Lang")) or None


def _string(value: Any) -> str:
    value = resolve1(value)
    return decode_text(value).replace("\0", "") if isinstance(value, bytes) else ""


def _date(text: str) -> str | None:
    """Return a date of the form ``D:20261105093000+03'00'`` in ISO format."""
    found = _DATE.match(text)
    if found is None or found[2] is None or found[3] is None:
        return None
    day = f"{found[1]}-{found[2]}-{found[3]}"
    if found[4] is None or found[5] is None:
        return day
    zone = (found[7] or "").replace("'", "")
    zone = f"{zone[:3]}:{zone[3:]}" if len(zone) > 1 else zone
    return f"{day}T{found[4]}:{found[5]}:{found[6] or '00'}{zone}"


def _split(box: LTTextBox) -> Iterator[tuple[str, float]]:
    """Yield the paragraphs of a box with their font sizes.

    pdfminer makes a box of lines without larger distances. In books and contracts, a paragraph is only
    indented, or the line before it is short.
    """
    lines = [one for one in box if isinstance(one, LTTextLine)]
    width = box.x1 - box.x0
    text, sizes, before = "", [], None
    for line in lines:
        here, size = _text_of(line)
        if not here:
            continue
        if before is not None and text:
            rtl = bool(_RTL_LETTER.search(here))
            indent = (box.x1 - line.x1) if rtl else (line.x0 - box.x0)
            was_indented = (box.x1 - before.x1) if rtl else (before.x0 - box.x0)
            ended = text.endswith(_ENDS)
            short = (before.x1 - before.x0) < _SHORT_LINE * width
            other_size = abs(size - sizes[-1]) > 1.0
            if other_size or (
                ended and (short or (indent > _INDENT * size and was_indented < _INDENT * size))
            ):
                yield text, median(sizes)
                text, sizes = "", []
        text = _append(text, here)
        sizes.append(size)
        before = line
    if text:
        yield text, median(sizes)


def _append(text: str, line: str) -> str:
    """Join two lines. A word that is divided by a hyphen is joined if it continues in lower case."""
    if _HYPHEN.search(text) and line[:1].islower():
        return text[:-1] + line
    return f"{text} {line}" if text else line


def _text_of(line: LTTextLine) -> tuple[str, float]:
    """Return the text of a line in the order in which it is read, and its font size."""
    characters = [one for one in line if isinstance(one, LTChar)]
    text = _NO_LETTER.sub("", line.get_text()).strip()
    if not text or not characters:
        return "", 0.0
    if _RTL_LETTER.search(text):
        right = [one for one in characters if _RTL_LETTER.search(one.get_text())]
        ascending = sum(a.x0 < b.x0 for a, b in pairwise(right))
        if 2 * ascending >= len(right) - 1:
            text = _read_from_right(text)
    text = _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return text, median(one.size for one in characters)


def _read_from_right(text: str) -> str:
    """Return a line with letters from right to left in the order of reading. PDF has the order of places."""
    if len(_LTR_LETTER.findall(text)) > len(_RTL_LETTER.findall(text)):
        return _RTL_RUN.sub(lambda found: found[0][::-1], text)
    turned = text[::-1].translate(_MIRRORED)
    turned = _LTR_RUN.sub(lambda found: found[0][::-1].translate(_MIRRORED), turned)
    return _POINTS.sub(r"\2\1", turned)


def _without_running_lines(paragraphs: list[_Paragraph], pages: int) -> list[_Paragraph]:
    """Leave out headers and footers: paragraphs that most pages have, with other numbers."""
    if pages < _MIN_PAGES:
        return paragraphs
    forms = Counter({(re.sub(r"\d+", "#", one.text), one.page) for one in paragraphs})
    seen = Counter(form for form, _page in forms)
    return [one for one in paragraphs if seen[re.sub(r"\d+", "#", one.text)] <= _REPEATED * pages]


def _joined(paragraphs: list[_Paragraph]) -> list[_Paragraph]:
    """Join paragraphs that a column or page divides."""
    found: list[_Paragraph] = []
    for one in paragraphs:
        before = found[-1] if found else None
        if (
            before is not None
            and abs(before.size - one.size) < 1.0
            and not before.text.endswith(_ENDS)
            and one.text[:1].islower()
        ):
            before.text = _append(before.text, one.text)
        else:
            found.append(one)
    return found


def _blocks(paragraphs: list[_Paragraph]) -> list[Block]:
    """Return the paragraphs as blocks. The largest text of the first page is the main heading."""
    weights = Counter[float]()
    for one in paragraphs:
        weights[round(one.size)] += len(one.text)
    if not weights:
        return []
    normal = weights.most_common(1)[0][0]
    first = [one for one in paragraphs if one.page == 1]
    largest = max((one.size for one in first), default=0.0)
    blocks: list[Block] = []
    headed = False
    for one in paragraphs:
        if one.size < _HEADING * normal:
            blocks.append(Block("p", one.text))
        elif one.page == 1 and one.size == largest and not headed:
            headed = True
            blocks.append(Block("h1", one.text))
        else:
            blocks.append(Block("h2", one.text))
    return blocks
