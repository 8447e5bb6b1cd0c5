"""Defines words: the one form of text for duplicate keys, signatures and full-text search.

:func:`fold` makes texts equal that people take for the same. It unifies case, ё and е, accents, ligatures and
widths (Unicode's NFKD), removes invisible characters and the points of Arabic and Hebrew, and unifies
look-alike Latin letters in Cyrillic words, and vice versa. й, the Japanese voiced sounds and the vowel signs
of India stay, because they are letters and not accents.

Words are runs of letters and digits. In scripts without spaces (Chinese, Japanese, Thai …) each character is
a word; otherwise a whole text would be one word.

All functions are linear in the length of the text, for any input.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache

VERSION = 2
"""Increased when the same text begins to give other words: values computed from words are then outdated.

Since November 2026, words of two scripts count as words of one; the number did not change.
"""

MAX_TEXT = 2_000_000
"""Characters of a text that are used (a long novel has one million)."""

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9d"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
"""Scripts written without spaces, as the inside of a regex class."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


def _ranges(codes: Iterable[int]) -> str:
    """Return characters as the inside of a regex class; ``codes`` in order."""
    found: list[list[int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "M" or category == "Cf"


_INDIC = (range(0x0900, 0x0E00), range(0x0F00, 0x1000), range(0xA800, 0xA900), range(0xABC0, 0xAC00))
_VOWELS = frozenset(
    chr(code)
    for codes in _INDIC
    for code in codes
    if unicodedata.category(chr(code))[0] == "M" and unicodedata.combining(chr(code)) in (0, 9, 129, 130, 132)
)
"""Vowel signs and the virama of scripts with spaces: marks in Unicode, but parts of words."""
_LETTER = rf"\w{_ranges(sorted(map(ord, _VOWELS)))}"  # beside the underscore
_WORD = re.compile(f"[{_LETTER}]+")
_WORD_OR_CHARACTER = re.compile(rf"[{UNSPACED}\u3099\u309a]|(?:(?![{UNSPACED}])[{_LETTER}])+")

_LETTERS_OF_THEIR_OWN = "\u3099\u309a"  # Japanese sound marks: か is not が
_SHORT_I = "и\u0306"
_SAME = (
    ("ı", "i"),
    ("ʼ", "'"),
    ("ς", "σ"),
    ("\u0640", ""),
)  # dotless i, the letter apostrophe, final sigma, tatweel
_FEW = 8
_DEPENDING = _LETTERS_OF_THEIR_OWN + "\u0306"
_SHORT = MAX_TEXT // 18  # one sign may become 18: a longer text may be cut while it is folded
_BEYOND = re.compile(r"[^\x00-\x7fа-яё]")
"""Characters that may be marks, invisible, or decomposable."""


def fold(text: str) -> str:
    """Return ``text`` folded, so that equal words are equal strings. Folding twice changes nothing."""
    text = _decompose(text.casefold()).casefold()  # ™ is taken apart into capitals
    text = _decompose(text)
    for letter, same in _SAME:
        text = text.replace(letter, same)
    return _MIXED.sub(_in_one_script, unicodedata.normalize("NFC", text))


_CYRILLIC = "\u0430-\u045f"
_MIXED = re.compile(rf"(?<![^\W\d_])(?:[a-z]++[{_CYRILLIC}]|[{_CYRILLIC}]++[a-z])[^\W\d_]*+")
"""A word that begins in one of the two scripts and continues in the other; linear for any input."""
_LATIN_OF: dict[str, str | int | None] = dict(zip("авсеніјкморѕтху", "abcehijkmopstxy", strict=True))
"""Cyrillic letters and the Latin ones that look like them, small or as capitals (Unicode's TR 39)."""
_CYRILLIC_OF: dict[str, str | int | None] = {str(latin): letter for letter, latin in _LATIN_OF.items()}


def _in_one_script(word: re.Match[str]) -> str:
    """Replace look-alike letters of one script if the word is then in one script."""
    signs = set(word[0])
    latin = {sign for sign in signs if sign.isascii()}
    for foreign, table in ((latin, _CYRILLIC_OF), (signs - latin, _LATIN_OF)):
        if foreign <= table.keys():
            return word[0].translate(str.maketrans(table))
    return word[0]


def letters(word: str) -> str:
    """Return one written word, folded, with letters and digits only; it may be empty."""
    return "".join(one for one in fold(word) if one.isalnum() or one in _VOWELS)


def tokens(text: str) -> list[str]:
    """Return the words of ``text`` in order, folded."""
    return [token.decode() for token in token_bytes(text)]


def token_bytes(text: str) -> list[bytes]:
    """Return the words of ``text`` in order, folded, in UTF-8 (which is what gets hashed)."""
    text = text[:MAX_TEXT]
    short = _short_way(text)
    if short is not None:
        return short.split()
    folded = fold(text)
    pattern = _WORD if _UNSPACED.search(folded) is None else _WORD_OR_CHARACTER
    return " ".join(pattern.findall(folded.replace("_", " "))).encode().split()


def word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the words of ``text`` as written, not folded.

    Marks and invisible characters belong to the word around them, so :func:`fold` of each match is one word.
    Replace ``_`` by a space first, because it separates words.
    """
    if _RARE.search(text) is None:
        return _WRITTEN_WORD
    spaced, unspaced = _written()
    return spaced if _UNSPACED.search(text) is None else unspaced


_WRITTEN_WORD = re.compile("\\w[\\w\u00ad\u0300-\u036f\u0483-\u0487\u200b-\u200f\u2060\ufeff]*")
"""The fast pattern for nearly all English and Russian texts; it takes half the time."""
_RARE = re.compile(
    "[\u0488-\u0489\u0590-\u1dff\u202a-\u202e\u2061-\u206f\u20d0-\u20ff\u2ce0-\uabff\uf900-\ufefe\uff00-\U0010ffff]"
)
"""Characters that the fast pattern does not handle, or of scripts without spaces."""
_WITH_MARKS = (
    *((0xAD, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0x13460), (0x16AF0, 0x17000)),
    *((0x1BC90, 0x1BCB0), (0x1CF00, 0x1E990), (0xE0000, 0xE01F0)),
)
"""Unicode ranges with marks and invisible characters."""


@cache
def _written() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns for words as written, without and with scripts that have no spaces."""
    places = (range(*ends) for ends in _WITH_MARKS)
    inside = _ranges(code for codes in places for code in codes if _is_invisible(chr(code)))
    return re.compile(rf"\w[\w{inside}]*"), re.compile(
        rf"[{UNSPACED}][{inside}]*|(?![{UNSPACED}])\w(?:(?![{UNSPACED}])[\w{inside}])*"
    )


def _decompose(text: str) -> str:
    """Decompose characters and remove marks and invisible characters; й stays whole.

    Marks are also removed before: ``normalize`` sorts a long run of mixed marks in quadratic time.
    """
    text = _drop_marks(text)
    if not unicodedata.is_normalized("NFKD", text):
        text = _drop_marks(unicodedata.normalize("NFKD", text)[:MAX_TEXT])  # one sign may become 18
    return text


def _drop_marks(text: str) -> str:
    text = text.replace(_SHORT_I, "й")
    unwanted = [character for character in set(_BEYOND.findall(text)) if _is_mark(character)]
    if len(unwanted) > _FEW:
        return text.translate(dict.fromkeys(map(ord, unwanted)))
    for character in unwanted:
        text = text.replace(character, "")
    return text


def _is_mark(character: str) -> bool:
    return _is_invisible(character) and character not in _LETTERS_OF_THEIR_OWN and character not in _VOWELS


# --- the short way: nearly all English and Russian texts, a third of the time


@lru_cache(maxsize=4096)
def _alone(character: str) -> str | None:
    """Return the replacement of a character in any context, a space if it is not in a word; None if it
    depends.

    It depends for letters of other scripts and for the mark of й.
    """
    folded = fold(character)
    if character in _DEPENDING or _UNSPACED.search(folded):
        return None
    if folded and not any(map(_is_word, folded)):
        return " "
    return folded if folded.isascii() else None


def _is_word(character: str) -> bool:
    return character.isalnum() or character in _LETTERS_OF_THEIR_OWN or character in _VOWELS


def _fold_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Replace characters outside the code page; abandon the fast path if a replacement depends on context."""
    assert isinstance(error, UnicodeEncodeError)
    some = error.object[error.start : min(error.end, error.start + _FEW)]  # one by one, a run may be long
    folded = [_alone(character) for character in some]
    if None in folded:
        raise error
    return "".join(part for part in folded if part is not None), error.start + len(some)


_CODE_PAGE = "cp1251"
_FOLDING = "newsbot-folding"
codecs.register_error(_FOLDING, _fold_unencodable)
_DELETED, _DEPENDS = b"\xad", b"\x01"  # the soft hyphen; an octet that stands for nothing else below
_SEVERAL = {"№": "no", "™": "tm"}
"""Characters of the code page that are replaced by several."""


def _octet(octet: int) -> int:
    """Return the replacement of an octet of the code page."""
    character = bytes((octet,)).decode(_CODE_PAGE, "replace")
    folded = fold(character)
    if not any(map(_is_word, folded)):
        return ord(" ")
    try:
        (single,) = folded.encode(_CODE_PAGE)
    except ValueError:
        return ord(_DEPENDS)
    return single


_OCTETS = bytes(map(_octet, range(256)))


def _script(octet: int) -> int:
    """Return the script of a folded octet: ``a`` Latin, ``b`` Cyrillic."""
    character = bytes((octet,)).decode(_CODE_PAGE, "replace")
    return ord("b" if "\u0430" <= character <= "\u045f" else "a" if "a" <= character <= "z" else " ")


_SCRIPTS = bytes(map(_script, range(256)))


def _short_way(text: str) -> bytes | None:
    """Return the folded words in UTF-8, separated by spaces; None if the slow path is needed."""
    if text.isascii():
        return text.encode().translate(_OCTETS)
    if len(text) > _SHORT:
        return None
    try:
        octets = text.encode(_CODE_PAGE, _FOLDING).translate(_OCTETS, _DELETED)
        if _DEPENDS in octets:
            for character, several in _SEVERAL.items():
                text = text.replace(character, several)
            octets = text.encode(_CODE_PAGE, _FOLDING).translate(_OCTETS, _DELETED)
    except UnicodeEncodeError:
        return None
    if _DEPENDS in octets:
        return None
    words, scripts = octets.decode(_CODE_PAGE), octets.translate(_SCRIPTS)
    if b"ab" in scripts or b"ba" in scripts:
        words = _MIXED.sub(_in_one_script, words)
    return words.encode()


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates (from broken JSON), which cannot be written to files."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
