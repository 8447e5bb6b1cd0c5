"""Decodes bodies: removes their content codings (gzip, deflate, Brotli, Zstandard), and finds their charset.

The header ``Content-Encoding`` is often wrong. So the bytes decide where they can: gzip and Zstandard have
marks, and a body that a decoder refuses is not packed with it.

Decodes the bytes of a page or feed, even if the declared encoding is wrong.

The byte order mark decides first. Then UTF-8 is tried, because text in another encoding is very rarely valid
UTF-8. If the page is not UTF-8, the encoding that the server or the page declares is used, unless the letters
of the decoded text are unlikely. Names of encodings have the same meaning as in browsers
(https://encoding.spec.whatwg.org): "latin1" means windows-1252.

The bytes are decoded in several encodings, and the scores of the texts are compared. A high score means that
a text was probably decoded correctly. In a wrong encoding, bytes are decoded to letters too, but the letters
are from several languages or in unusual places. Typical faults are capitals inside words, final forms of
letters inside words, and letters of two scripts next to each other.
"""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from itertools import chain
from urllib.parse import quote

import brotli  # type: ignore[import-untyped]
from w3lib.encoding import read_bom, resolve_encoding

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 18
_MAX_MEMBERS = 1000
_MOST_LAYERS = 3
"""Maximum number of codings of one body. A front server may compress a file that is already compressed."""
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})


class CodingError(ValueError):
    """Raised if a body is neither text nor packed with a declared coding."""


class TooLargeError(ValueError):
    """Raised if an unpacked body exceeds the limit."""


def decoded(body: bytes, declared: str, limit: int) -> bytes:
    """Return ``body`` without its content codings. The result is unchanged if it has none.

    ``declared`` is the value of ``Content-Encoding``. Unknown codings are ignored. If a packed body is cut
    off, its readable part is returned. Raises :class:`TooLargeError` if the result is longer than ``limit``
    (0: no limit), and :class:`CodingError` if the body is broken.
    """
    codings = [coding.strip().lower() for coding in declared.split(",")]
    for _layer in range(_MOST_LAYERS):
        coding = _shown(body) or (codings.pop() if codings else "")
        opened = _OPENERS[coding](body) if coding in _OPENERS else iter(())
        first = _first(opened)
        if first:
            body = _joined(chain((first,), opened), limit)
        elif coding in _OPENERS and _is_binary(body):
            raise CodingError(f"the body is not {coding}")
        elif not codings:
            break
    return body


def _shown(body: bytes) -> str:
    """Return the coding that the first bytes show. The result is empty if they show none."""
    if is_gzip(body):
        return "gzip"
    if body.startswith(_ZSTD):
        return "zstd"
    # The header of zlib with the usual size of the window (RFC 1950)
    is_zlib = body.startswith(b"x") and int.from_bytes(body[:2], "big") % 31 == 0 and _is_binary(body)
    return "deflate" if is_zlib else ""


def _first(pieces: Iterator[bytes]) -> bytes:
    try:
        return next(pieces, b"")
    except (ValueError, zlib.error, brotli.error, zstd.ZstdError, EOFError):
        return b""


def _joined(pieces: Iterator[bytes], limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    try:
        for piece in pieces:
            parts.append(piece)
            total += len(piece)
            if limit and total > limit:
                raise TooLargeError(f"more than {limit} bytes when decompressed")
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError):
        pass  # the readable part is kept
    return b"".join(parts)


def _is_binary(body: bytes) -> bool:
    start = body[:512]
    return (len(start) - len(start.translate(None, _CONTROL))) * 20 > len(start)


def _inflated(body: bytes) -> Iterator[bytes]:
    # RFC 9110, 8.4.1.2: "deflate" is the zlib format. Some servers send raw deflate data.
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            zlib.decompressobj(wbits).decompress(body, 1)
        except zlib.error:
            continue
        return _pieces(zlib.decompressobj(wbits), body)
    return iter(())


def _pieces(unpacker: zlib._Decompress, source: bytes) -> Iterator[bytes]:
    while source and not unpacker.eof and (piece := unpacker.decompress(source, _PIECE)):
        yield piece
        source = unpacker.unconsumed_tail


def _unbrotlied(body: bytes) -> Iterator[bytes]:
    unpacker = brotli.Decompressor()
    piece = unpacker.process(body, output_buffer_limit=_PIECE)
    while piece:
        yield piece
        if unpacker.is_finished():
            return
        piece = unpacker.process(b"", output_buffer_limit=_PIECE)


def _unzstded(body: bytes) -> Iterator[bytes]:
    file = zstd.ZstdFile(BytesIO(body))
    while piece := file.read1(_PIECE):
        yield piece


def is_gzip(body: bytes) -> bool:
    """Return True if ``body`` begins like a gzip file (RFC 1952). File names and HTTP headers are often
    wrong."""
    return body.startswith(_MAGIC)


def unpacked(body: bytes, limit: int) -> Iterator[bytes]:
    """Yield ``body`` in pieces, unpacked if it is gzip, and unpacked twice if the content is gzip again.

    All pieces together have at most ``limit`` bytes. If a gzip file is broken or cut off, its readable part
    is yielded. Pieces are small even if the compression ratio is high.
    """
    if not is_gzip(body):
        for at in range(0, min(len(body), limit), _PIECE):
            yield body[at : min(at + _PIECE, limit)]
        return
    pieces = _members(memoryview(body))
    first = next(pieces, b"")
    if is_gzip(first):
        inner = b"".join(_limited(chain((first,), pieces), limit))
        pieces = _members(memoryview(inner))
        first = next(pieces, b"")
    yield from _limited(chain((first,), pieces), limit)


def _limited(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        yield piece[: limit - total]
        total += len(piece)
        if total >= limit:
            return


def gunzip(body: bytes, limit: int) -> bytes:
    """Return the whole ``body``. If it is gzip, unpack at most ``limit`` bytes."""
    return b"".join(unpacked(body, limit)) if is_gzip(body) else body


def _members(packed: memoryview) -> Iterator[bytes]:
    """Unpack the members of a gzip file in order, up to the first fault (RFC 1952, 2.2)."""
    for _member in range(_MAX_MEMBERS):
        if packed[:2] != _MAGIC:
            return
        unpacker = zlib.decompressobj(wbits=31)
        position = 0
        while not unpacker.eof:
            source = unpacker.unconsumed_tail  # input that was left when the output reached _PIECE bytes
            if not source:
                source = bytes(packed[position : position + _PIECE])
                position += len(source)
            try:
                piece = unpacker.decompress(source, _PIECE)
            except zlib.error:
                return
            if piece:
                yield piece
            elif not source:  # the file is cut off
                return
        # the unpacker has also read the beginning of the next member
        packed = packed[position - len(unpacker.unused_data) :]


_OPENERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": lambda body: _members(memoryview(body)), "x-gzip": lambda body: _members(memoryview(body)),
    "deflate": _inflated, "br": _unbrotlied, "zstd": _unzstded,
}  # fmt: skip

# --- charsets
# The rank of each small Cyrillic letter. Frequent letters have high ranks.
_COMMON = dict(zip("оеаинтсрвлкмдпуяызьбгчйхжюшціїєґщэфъё", range(40, 3, -1), strict=False))
# A capital after a small letter, as in "пРИВЕТ".
_UPPER = re.compile("[а-яёіїєґ][А-ЯЁІЇЄҐ]")
_INITIAL = re.compile("(?<![Ѐ-ӿ])[А-ЯЁІЇЄҐ](?=[а-яёіїєґў])")
MIXED = re.compile("[A-Za-z][а-яёА-ЯЁіїєґўђјљњћџ]|[а-яёА-ЯЁіїєґўђјљњћџ][A-Za-z]")
"""A Cyrillic letter next to a Latin letter."""

_PUNCTUATION = frozenset("\xa0\xad«»“”„‘’‚‹›–—…•·´©®™°§№€£¥¿¡")
"""Signs that occur in texts of any script."""
_SIDE_BY_SIDE = re.compile("[^\\x00-\\x7f](?=[^\\x00-\\x7f])")
_SIGNS_OF_SCRIPTS = {
    "greek": (
        re.compile("[Ͱ-Ͽἀ-῿]"),
        re.compile("[ΰΐ]|ς(?=[α-ώ])|[α-ώ](?=[Α-Ω])|[A-Za-z](?=[Α-ώ])|[Α-ώ](?=[A-Za-z])"),
    ),
    "hebrew": (re.compile("[א-ת]"), re.compile("[ךםןףץ](?=[א-ת])|[A-Za-z](?=[א-ת])|[א-ת](?=[A-Za-z])")),
    "arabic": (
        re.compile("[ء-ْپچژگکیھہںے،؛؟]"),
        re.compile("[ةى](?=[ء-ي])|[A-Za-zÀ-ÿ](?=[ء-ي])|[ء-ي](?=[A-Za-zÀ-ÿ])"),
    ),
    "thai": (
        re.compile("[ก-๛]"),
        re.compile("(?<![ก-ฮั-ฺ็-๎])[ัิ-ฺ็-๎]|[เ-ไ](?![ก-ฮ])|[A-Za-z](?=[ก-๛])|[ก-๛](?=[A-Za-z])"),
    ),
}
"""Two patterns for each script: the first matches its letters, and the second matches faults.

Faults, such as a word-final form inside a word, very rarely occur in a correct text. The faults of Greek
include two letters (ΰ and ΐ), because Russian letters with the same bytes are a thousand times more frequent.
"""
_LATIN_LETTERS = (
    "äöüßéèáóçñ", "àâæçéèêëîïôœùûüÿ", "áéíñóúüª", "áâãàçéêíóôõúºª", "àèéìíòóùú", "åäöæøéèáüóíç", "àçèéíïòóúü",
    "ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľŕô", "áéíóöőúüű", "ăâîșțşţ", "čćđšž", "çğışöüâîû", "ąčęėįšųūž",
    "āčēģīķļņšūž", "äõöüšž", "ëç",
)  # fmt: skip
"""Letters beyond ASCII, by language."""
_ICELANDIC = frozenset("áðéíóúýþæöÁÐÉÍÓÚÝÞÆÖ")
_IN_ALL_ICELANDIC = frozenset("áíóú")
"""Letters that occur in every Icelandic text.

If a text has none of these letters, its letters eth (ð), thorn (þ) and ý are wrongly decoded Turkish letters.
"""
_ALPHABETS = tuple(
    frozenset(letters + letters.upper() + "İ" * ("ı" in letters)) for letters in _LATIN_LETTERS
)
_HAN = frozenset(
    "的一是不了在人有我他这中大来上国到说们为子和你地出也时年得就那要下以生会自去之过家学对可后小多天而能好都然没日"
    "于起还发成事只作当看文开用主行方如前所本经面公同三已从动两长民样现分将外但些与高意进法此实回二理点月明其全工者"
    "情部正名定问力机等业最间新因重被第相次东政海使平世信北关内加化由代军产入先水万市体别报這來國個說們為時會過學對後"
)  # fmt: skip
"""Characters that make up nearly half of any Chinese text, in simplified and traditional form."""
_HANGUL = frozenset(
    bytes((row, cell)).decode("euc_kr") for row in range(0xB0, 0xC9) for cell in range(0xA1, 0xFF)
)
"""The 2,350 syllables of KS X 1001, a Korean standard.

Korean texts have hardly any other syllables. A Japanese text that is wrongly decoded as Korean has other
syllables.
"""
_EAST_ASIAN = {"ja": frozenset(map(chr, range(0x3041, 0x3094))), "ko": _HANGUL, "zh": _HAN}
_SHARES = {"ja": 4.0, "ko": 1.2, "zh": 2.5}
"""Language -> factor. For a typical text, the share of :data:`_EAST_ASIAN` multiplied by this factor is about
1."""


@cache
def _runs(script: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_SIGNS_OF_SCRIPTS[script][0].pattern})+")


def cyrillic(text: str) -> float:
    """Return how similar the non-ASCII letters are to Russian or Ukrainian prose, from 0 to about 1.

    The score is the average weight of the non-ASCII characters. A frequent letter has the weight 1 if it is
    in lower case or is the first letter of a word. Other Cyrillic letters have the weight .6, and other
    characters 0. Each fault (:func:`_faults`) reduces the sum of the weights by 2.

    Faults show a wrong encoding. In a wrong Cyrillic encoding, words have capitals inside, because KOI8-R has
    capitals where windows-1251 has small letters. If the bytes are in a western encoding, single Cyrillic
    letters are inside Latin words.
    """
    high = _high(text)
    if not high:
        return 0.0
    weight = sum(
        count * (1.0 if _COMMON.get(sign, 0) > 14 else 0.6 if sign.isalpha() and "Ѐ" <= sign <= "ӿ" else 0.0)
        for sign, count in high.items()
    )
    initials = Counter(_INITIAL.findall(text))
    weight += sum(0.4 * count for sign, count in initials.items() if _COMMON.get(sign.lower(), 0) > 14)
    return max(0.0, (weight - 2 * _faults(text)) / high.total())


def _high(text: str) -> Counter[str]:
    """Return the number of occurrences of each non-ASCII character."""
    return Counter({sign: count for sign, count in Counter(text).items() if sign > "\x7f"})


def is_orderly(text: str) -> bool:
    """True if Cyrillic words have hardly any capitals and Latin letters inside them."""
    return 100 * _faults(text) <= len(text)


def _faults(text: str) -> int:
    """Return the number of capitals inside Cyrillic words and of Latin letters next to Cyrillic letters."""
    return len(_UPPER.findall(text)) + len(MIXED.findall(text))


def of_script(text: str, script: str) -> float:
    """Return how similar the non-ASCII letters are to a text in ``script``, from 0 to 1.

    ``script`` is ``greek``, ``hebrew``, ``arabic`` or ``thai``. The score is 0 if few of the letters are next
    to each other. The text is then Latin, because accented Latin letters are usually between ASCII letters.
    """
    letters, faults = _SIGNS_OF_SCRIPTS[script]
    signs = _high(text)
    high = sum(count for sign, count in signs.items() if sign not in _PUNCTUATION)
    found = sum(count for sign, count in signs.items() if letters.match(sign))
    # A run is a sequence of letters of the script. The number of letters minus the number of runs is the
    # number of letters that follow another letter. Counting the runs is slow, so it comes last.
    if not high or found < high / 2 or found - len(_runs(script).findall(text)) < high / 2:
        return 0.0
    return max(0.0, (found - 2 * len(faults.findall(text))) / high)


def latin(text: str) -> float:
    """Return the largest share of the non-ASCII letters that belong to one language in the Latin script.

    The share is computed for each language, without the signs in :data:`_PUNCTUATION`. The result is 1
    if there are no such letters.
    """
    high = Counter({sign: count for sign, count in _high(text).items() if sign not in _PUNCTUATION})
    total = high.total()
    if not total:
        return 1.0
    alphabets = (*_ALPHABETS, _ICELANDIC) if _IN_ALL_ICELANDIC & high.keys() else _ALPHABETS
    return max(sum(high[sign] for sign in alphabet & high.keys()) for alphabet in alphabets) / total


def east_asian(text: str, language: str) -> float:
    """Return how typical the non-ASCII characters are for ``language`` (``ja``, ``ko``, ``zh``), from 0 to 1.

    At least a fifth of the characters of a Japanese text are Hiragana. The characters in :data:`_HAN` make up
    nearly half of a Chinese text.
    """
    high = _high(text)
    total = high.total()
    # Invalid bytes (U+FFFD) show a wrong encoding. If most characters are alone between ASCII letters, the
    # text is Latin.
    if not total or high["\ufffd"] * 50 > total or len(_SIDE_BY_SIDE.findall(text)) * 2 < total:
        return 0.0
    return min(
        1.0, sum(high[sign] for sign in _EAST_ASIAN[language] & high.keys()) * _SHARES[language] / total
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
_MULTIBYTE = {
    "cp949": "ko", "euc_jp": "ja", "cp932": "ja", "gb18030": "zh", "big5": "zh", "euc_kr": "ko", "gbk": "zh",
    "shift_jis": "ja", "gb2312": "zh", "big5hkscs": "zh", "johab": "ko",
}  # fmt: skip
"""Languages by encoding, for the encodings of East Asia."""
_UNDECLARED = 5
"""This number of encodings at the start of :data:`_MULTIBYTE` is tried even if they are not declared."""
# Encodings that use escape sequences to switch between scripts.
_ESCAPING = frozenset({"iso2022_jp"})
_JAPANESE = re.compile(rb"\x1b\$[@B][!-~]{2}")
"""Matches an escape sequence of ISO-2022-JP. All bytes of this encoding are ASCII."""
_CYRILLIC = ("cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "mac-cyrillic")
_SCRIPTS = {
    "iso8859-7": "greek", "cp1253": "greek", "cp1255": "hebrew", "iso8859-8": "hebrew",
    "cp1256": "arabic", "iso8859-6": "arabic", "cp874": "thai", "tis_620": "thai", "tis-620": "thai",
    "iso8859-11": "thai",
}  # fmt: skip
"""Scripts by encoding, for encodings that have one script besides Latin.

Cyrillic encodings are not listed here, because they have a score of their own.
"""
_LIKE_CAPITALS = frozenset({"greek", "arabic"})
"""Scripts that a text in Cyrillic capitals may seem to have if it is decoded in the wrong encoding."""
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254", "cp1257", "iso8859-15")
_MIN_SCRIPT_SCORE = 0.5
"""Score above which an encoding of :data:`_SCRIPTS` or a Cyrillic encoding is accepted."""
_MIN_EAST_ASIAN_SCORE = 0.5
"""Minimum score at which an encoding of East Asia is accepted."""
_UTF8 = 0.33
"""Minimum share of valid characters in UTF-8. In other encodings, up to .28 are valid by chance."""
_UTF8_DECLARED = 0.05
"""Minimum number of valid characters per invalid byte, if UTF-8 is declared and the letters are Latin."""
_DECLARED_BONUS = 0.1
"""Bonus for the score of a declared Latin encoding. The score of another encoding must be better by more than
this bonus."""
_MAC_LEAD = 0.05
"""The score of mac-cyrillic must exceed the score of windows-1251 by this difference.

Both encodings have nearly the same small letters.
"""
_CP1252_BONUS = 0.005
"""Bonus for the score of windows-1252, the most frequent encoding, so that it is chosen if scores are
equal."""
_TAG = re.compile(rb"<[^<>]{1,3000}>")
_MAX_SEARCHED = 200_000
"""Maximum number of bytes of a page that are searched for letters."""
_HEAD = 4096
"""Number of bytes at the start of a page that are searched for a declaration of the encoding."""
_MAX_SCORED = 8000
"""Maximum number of bytes whose letters are scored."""
_NON_ASCII = bytes(range(128, 256))
_PAIR = re.compile(rb"[\x80-\xff](?=[\x80-\xff])")
# Characters that are not ASCII, in UTF-8. The end of a character may be cut off.
_VALID = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{1,2}|[\xf0-\xf4][\x80-\xbf]{1,3}")
_LATIN_SIGNS = re.compile("[\u00a0-\u024f\u2010-\u20cf]")
_MARKS = re.compile("\ufffd{2,}")
_RUN = re.compile(rb"[A-Za-z]?[\x80-\xff][\x80-\xff\x20A-Za-z,.]{0,400}")


def decode(page: bytes, declared: str | None = None) -> str:
    """Return ``page`` as text, without a byte order mark. The function never raises.

    ``declared`` is the charset that the server declared. Each run of bytes that are invalid in the chosen
    encoding becomes U+FFFD.
    """
    return decode_as(page, detect(page, declared))


def decode_as(page: bytes, encoding: str) -> str:
    """Return ``page`` as text in an encoding that :func:`detect` has found."""
    text = page.decode(encoding, "replace").removeprefix("\ufeff")
    return _MARKS.sub("\ufffd", text) if "\ufffd" in text else text


def encoding_of_links(page: bytes, declared: str | None, detected: str) -> str:
    """Return the encoding in which browsers send the queries of a page's links.

    It is the encoding of the page, which :func:`detect` has found. A page without non-ASCII bytes may still
    have such letters in its links, as character references. Then the declared encoding counts.
    """
    names = _declared(page, declared) if page.isascii() else []
    return names[0] if names else detected


_LETTERS = re.compile("[^\x00-\x7f]+")


def with_encoded_query(link: str, encoding: str) -> str:
    """Return a link with the non-ASCII letters of its query encoded as browsers do
    (https://url.spec.whatwg.org/#query-state).

    Letters that the encoding does not have become character references. The path is always sent in UTF-8.
    """

    def encoded(letters: re.Match[str]) -> str:
        return quote(letters[0].encode(encoding, "xmlcharrefreplace"), safe="")

    before, mark, query = link.partition("?")
    query, sharp, fragment = query.partition("#")
    return before + mark + _LETTERS.sub(encoded, query) + sharp + fragment if "#" not in before else link


def detect(page: bytes, declared: str | None = None) -> str:
    """Return Python's name of the encoding of a page or feed. Never raises.

    ``page`` may be only the first part. ``declared`` is the charset that the server declared.
    """
    marked, _ = read_bom(page)
    if found := marked or _without_bom(page):
        return found
    names = _declared(page, declared)
    # ISO-2022-JP would pass the test for UTF-8, because all its bytes are ASCII.
    for name in names:
        if name in _ESCAPING and b"\x1b" in page:
            return name
    if _JAPANESE.search(page[:_MAX_SEARCHED]) and page[:_MAX_SEARCHED].isascii():
        return "iso2022_jp"
    return "utf-8" if _is_utf8(page, declared="utf-8" in names) else _eight_bit(page, names)


def _without_bom(page: bytes) -> str | None:
    """Return the UTF-16 encoding of a page that has no byte order mark, or None for other encodings."""
    start = page[:_HEAD]
    # Markup begins with an ASCII character and is mostly ASCII, so in UTF-16 every second byte is zero.
    even, odd = start[::2].count(0), start[1::2].count(0)
    if b"\0" not in start[:2] or max(even, odd) * 8 < len(start) or min(even, odd) * 50 > len(start):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _declared(page: bytes, server: str | None) -> list[str]:
    """Return the encodings that the server and the page declare, in this order.

    The names are Python's names. Encodings that Python does not know are left out.
    """
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
    except (ValueError, UnicodeError):  # the label contains characters that no codec name contains
        return None
    return name if name and _is_text_codec(name) else None


def _is_text_codec(name: str) -> bool:
    """True if ``name`` is a codec for texts.

    Python has slow codecs for other purposes too, such as ``idna``.
    """
    return name.startswith(
        ("utf", "cp", "iso", "koi8", "mac", "euc", "gb", "big5", "shift", "ascii", "tis", "johab", "hz")
    )


def _is_utf8(page: bytes, *, declared: bool) -> bool:
    """True for text in UTF-8. The text may end in the middle of a character.

    Invalid bytes are allowed, for example where a site has cut a text in the middle of a character, or has
    inserted a comment in another encoding.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(page)
    except UnicodeDecodeError:
        sample = page[:_MAX_SEARCHED]
        text = sample.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        valid = len(text) - len(sample.translate(None, _NON_ASCII)) - broken
        if valid >= _UTF8 * (valid + broken):
            return True
        # In the Latin encodings, hardly any bytes are valid by chance.
        least = (_UTF8_DECLARED if declared else _UTF8) * broken
        return len(_LATIN_SIGNS.findall(text)) >= least and not _has_runs(_VALID.sub(b" ", sample))
    return True


def _eight_bit(page: bytes, names: list[str]) -> str:
    """Return the encoding of a page that is not UTF-8."""
    declared = [name for name in names if not name.startswith(("utf", "ascii"))]
    # The sample has the words that contain non-ASCII letters, and the text around them, but no markup.
    sample = b" ".join(_RUN.findall(page[:_MAX_SEARCHED]))[:_MAX_SCORED]
    found = _east_asian(page, declared) or _by_script(sample, declared) if _has_runs(sample) else None
    return found or _of_latin(sample, declared)


def _has_runs(sample: bytes) -> bool:
    """True if non-ASCII bytes are next to each other. In a Latin text, most non-ASCII bytes are between ASCII
    bytes."""
    return len(_PAIR.findall(sample)) * 5 > len(sample) - len(sample.translate(None, _NON_ASCII))


def _by_script(sample: bytes, declared: list[str]) -> str | None:
    """Return the encoding in which the letters form a text in a script other than Latin, or None.

    The declared encoding decides only between encodings with nearly the same score.
    """
    scores = {name: cyrillic(sample.decode(name, "replace")) for name in _CYRILLIC}
    scores |= {name: of_script(sample.decode(name, "replace"), script) for name, script in _SCRIPTS.items()}
    best = max(scores, key=lambda name: scores[name])
    if best == "mac-cyrillic" and best not in declared and scores["cp1251"] >= scores[best] - _MAC_LEAD:
        best = "cp1251"
    # Cyrillic capitals may look like Greek or Arabic. If a Cyrillic encoding is declared and the text is
    # plausible in it, this encoding is used.
    if _SCRIPTS.get(best) in _LIKE_CAPITALS:
        best = next((name for name in declared if _is_cyrillic(sample, name, scores)), best)
    if scores[best] <= _MIN_SCRIPT_SCORE:
        return None
    # Some encodings, such as KOI8-R and KOI8-U, differ in only a few letters. In this case the declared
    # encoding is used.
    near = [name for name in declared if scores.get(name, 0.0) >= scores[best] * 0.97]
    return near[0] if near else best


def _is_cyrillic(sample: bytes, name: str, scores: dict[str, float]) -> bool:
    return (
        name in _CYRILLIC and scores[name] > _MIN_SCRIPT_SCORE and is_orderly(sample.decode(name, "replace"))
    )


def _east_asian(page: bytes, declared: list[str]) -> str | None:
    """Return the Japanese, Korean or Chinese encoding that fits the page, or None.

    If no encoding fits well, a declared encoding with hardly any invalid bytes is returned.
    """
    lines = _TAG.sub(b"\n", page[:_MAX_SEARCHED]).splitlines()
    # Lines of ASCII are the same in all these encodings.
    sample = b"\n".join(line for line in lines if not line.isascii())[:_MAX_SCORED]
    stated = [name for name in declared if name in _MULTIBYTE]
    texts = {name: sample.decode(name, "replace") for name in (*stated, *list(_MULTIBYTE)[:_UNDECLARED])}
    scores = {name: east_asian(text, _MULTIBYTE[name]) for name, text in texts.items()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] >= _MIN_EAST_ASIAN_SCORE:
        return best
    return next((name for name in stated if texts[name].count("\ufffd") * 50 <= len(texts[name])), None)


def _of_latin(sample: bytes, declared: list[str]) -> str:
    """Return the encoding in which most letters belong to one language in the Latin script."""
    stated = [name for name in declared if name not in _CYRILLIC and name not in _SCRIPTS]
    names = dict.fromkeys((*stated, *_LATIN))
    scores = {
        name: latin(sample.decode(name, "replace")) + _DECLARED_BONUS * (name in stated) for name in names
    }
    scores["cp1252"] += _CP1252_BONUS
    return max(scores, key=lambda name: scores[name])
