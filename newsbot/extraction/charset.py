"""From the bytes of a page to text, when the declared encoding may be wrong.

The order: byte order mark; UTF-8 if the bytes are valid UTF-8 (text in another encoding hardly ever
is); what the server and the page declare, unless the letters say otherwise; a guess.
Names of encodings are read as browsers do (WHATWG Encoding Standard, "latin1" means windows-1252).
"""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes
from w3lib.encoding import resolve_encoding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(
    rb"""<meta[^>]{0,300}?charset\s{0,5}=\s{0,5}["']?\s{0,5}([\w.:-]{2,40})"""
    rb"""|<\?xml[^>]{0,100}?encoding\s{0,5}=\s{0,5}["']([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_ALIASES = {
    "win-1251": "cp1251", "win1251": "cp1251", "windows1251": "cp1251", "cp-1251": "cp1251", "1251": "cp1251",
    "koi8r": "koi8-r", "koi-8": "koi8-r", "koi8-ru": "koi8-u", "utf8mb4": "utf-8", "utf": "utf-8",
    "unicode": "utf-8", "x-sjis": "cp932", "windows-31j": "cp932", "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030",
}  # fmt: skip
_MULTIBYTE = frozenset(
    {"cp932", "shift_jis", "euc_jp", "cp949", "euc_kr", "gb18030", "gbk", "gb2312", "big5", "big5hkscs"}
)
_ESCAPED = frozenset({"iso2022_jp"})
_CYRILLIC = ("cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "mac-cyrillic")
_SAMPLE = 200_000
_HEAD = 4096
_RUN = re.compile(rb"[A-Za-z]?[\x80-\xff][\x80-\xff\x20A-Za-z,.]{0,400}")
_COMMON = dict(zip("оеаинтсрвлкмдпуяызьбгчйхжюшціїєґщэфъё", range(40, 3, -1), strict=False))
_UPPER = re.compile("[а-яёіїєґ][А-ЯЁІЇЄҐ]")
_MIXED = re.compile("[A-Za-z][а-яёА-ЯЁіїєґўђјљњћџ]|[а-яёА-ЯЁіїєґўђјљњћџ][A-Za-z]")


def decode(page: bytes, declared: str | None = None) -> str:
    """Return ``page`` as text; ``declared`` is the charset that the server named. Never fails."""
    for bom, name in _BOMS:
        if page.startswith(bom):
            return page[len(bom) :].decode(name, "replace")
    if wide := _without_bom(page):
        return page.decode(wide, "replace")
    names = _declared(page, declared)
    for name in names:
        if name in _ESCAPED and b"\x1b" in page:
            return page.decode(name, "replace")
    if _is_utf8(page):
        return page.decode("utf-8", "replace")
    return page.decode(_eight_bit(page, names), "replace")


def _without_bom(page: bytes) -> str | None:
    """UTF-16 that lost its mark: every second byte of the markup is zero."""
    start = page[:_HEAD]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) * 8 < len(start) or min(even, odd) * 50 > len(start):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _declared(page: bytes, server: str | None) -> list[str]:
    """Encodings that the server and the page name, known ones only, in Python's names."""
    match = _META.search(page[:_HEAD])
    inside = (match[1] or match[2]).decode("ascii", "replace") if match else None
    names: list[str] = []
    for label in (server, inside):
        name = _known(label) if label else None
        if name and name not in names:
            names.append(name)
    return names


def _known(label: str) -> str | None:
    label = label.strip().strip("\"'").lower()[:40]
    try:
        name = resolve_encoding(_ALIASES.get(label, label))
    except (ValueError, UnicodeError):  # a label with signs that no codec name has
        return None
    return name if name and _is_text_codec(name) else None


def _is_text_codec(name: str) -> bool:
    """Python also has codecs such as ``idna`` and ``punycode``, slow and never meant for a page."""
    return name.startswith(
        ("utf", "cp", "iso", "koi8", "mac", "euc", "gb", "big5", "shift", "ascii", "tis", "johab", "hz")
    )


def _is_utf8(page: bytes) -> bool:
    """True for valid UTF-8, and for UTF-8 with a few broken places or a cut end."""
    try:
        page.decode("utf-8")
    except UnicodeDecodeError:
        sample = page[:_SAMPLE]
        broken = sample.decode("utf-8", "replace").count("\ufffd")
        high = len(sample) - len(sample.translate(None, bytes(range(128, 256))))
        return broken * 20 < high
    return True


def _eight_bit(page: bytes, names: list[str]) -> str:
    """The encoding of a page that is no UTF-8."""
    declared = [name for name in names if not name.startswith(("utf", "ascii"))]
    sample = b" ".join(_RUN.findall(page[:_SAMPLE]))[:20_000]
    for name in declared:
        if name in _MULTIBYTE and _decodes(sample, name):
            return name
    scores = {name: _russian(sample.decode(name, "replace")) for name in _CYRILLIC}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] > 0.5:  # Cyrillic for certain: the letters choose, the declaration breaks ties
        near = [name for name in declared if scores.get(name, 0.0) >= scores[best] * 0.97]
        return near[0] if near else best
    high = len(sample) - len(sample.translate(None, bytes(range(128, 256))))
    for name in declared:
        if name not in _CYRILLIC or len(_MIXED.findall(sample.decode(name, "replace"))) * 2 < high:
            return name
    if declared:  # Cyrillic is declared, but its letters would stand inside Latin words
        return "cp1252"
    found = from_bytes(sample[:4000], steps=3, enable_fallback=False).best()
    return found.encoding if found is not None else "cp1252"


def _decodes(sample: bytes, name: str) -> bool:
    text = sample.decode(name, "replace")
    return text.count("\ufffd") * 50 <= len(text)


def _russian(text: str) -> float:
    """How much the letters beyond ASCII look like Russian or Ukrainian prose: 0 to about 1.

    Common small letters count in full, rare ones less. The wrong Cyrillic encoding shows by capitals
    inside words (KOI8-R and windows-1251 have the cases the other way round) and by signs that are no
    letters; a western one by single letters inside Latin words.
    """
    high = [sign for sign in text if sign > "\x7f"]
    if not high:
        return 0.0
    weight = sum(
        1.0 if _COMMON.get(sign, 0) > 14 else 0.6 if sign.isalpha() and "Ѐ" <= sign <= "ӿ" else 0.0
        for sign in high
    )
    faults = len(_UPPER.findall(text)) * 2 + len(_MIXED.findall(text)) * 2
    return max(0.0, (weight - faults) / len(high))
