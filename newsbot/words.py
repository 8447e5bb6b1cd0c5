"""What a word is: the one form of text behind duplicate keys, signatures and full-text search.

:func:`fold` makes texts equal that people take for the same: case, ё and е, accents, ligatures and
widths (Unicode's NFKD), invisible characters. й and the Japanese voiced sounds stay: they are letters
of their own, whose marks are no accents. Words are runs of letters and digits; in scripts written
without spaces (Chinese, Japanese, Thai …) each character is a word, or a whole text would be one.

Everything here is linear in the length of the text, whatever it holds.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import lru_cache

VERSION = 1
"""Grows when the same text begins to give other words: what was computed from words is then out of date."""

MAX_TEXT = 2_000_000
"""Characters; what a text has beyond is not looked at (a long novel has one million)."""

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9d"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
"""Scripts written without spaces, as the inside of a regex class."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(r"[^\W_]+")
_WORD_OR_CHARACTER = re.compile(rf"[{UNSPACED}\u3099\u309a]|(?:(?![{UNSPACED}])[^\W_])+")

_LETTERS_OF_THEIR_OWN = "\u3099\u309a"  # Japanese sound marks: か is not が
_SHORT_I = "и\u0306"
_SAME = (("ı", "i"), ("ʼ", "'"), ("ς", "σ"))  # dotless i, the letter apostrophe, final sigma
_FEW = 8
_DEPENDING = _LETTERS_OF_THEIR_OWN + "\u0306"
_SHORT = MAX_TEXT // 18  # one sign may become 18: a longer text may be cut while it is folded
_BEYOND = re.compile(r"[^\x00-\x7fа-яё]")
"""What may be a mark, an invisible sign or a letter to take apart."""


def fold(text: str) -> str:
    """Return ``text`` in the form in which equal words are equal. Folding twice changes nothing."""
    text = _decompose(text.casefold()).casefold()  # ™ is taken apart into capitals
    text = _decompose(text)
    for letter, same in _SAME:
        text = text.replace(letter, same)
    return unicodedata.normalize("NFC", text)


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
    return " ".join(pattern.findall(folded)).encode().split()


def word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the words of ``text`` as it stands, not folded.

    Marks and invisible characters belong to the word around them, so that :func:`fold` of each match
    is one word. Replace ``_`` by a space first: it parts words.
    """
    return _WRITTEN_WORD if _UNSPACED.search(text) is None else _WRITTEN_WORD_OR_CHARACTER


_INSIDE = "\u00ad\u0300-\u036f\u0483-\u0487\u200b-\u200f\u2060\ufeff"
_WRITTEN_WORD = re.compile(rf"\w[\w{_INSIDE}]*")
_WRITTEN_WORD_OR_CHARACTER = re.compile(
    rf"[{UNSPACED}][\u3099\u309a{_INSIDE}]*|(?![{UNSPACED}])\w(?:(?![{UNSPACED}])[\w{_INSIDE}])*"
)


def _decompose(text: str) -> str:
    """Take characters apart and leave out marks and invisible ones; й stays whole.

    Marks go before as well: sorting a long run of mixed marks takes ``normalize`` quadratic time.
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
    category = unicodedata.category(character)
    return (category[0] == "M" or category == "Cf") and character not in _LETTERS_OF_THEIR_OWN


# --- the short way: nearly all English and Russian texts, a third of the time


@lru_cache(maxsize=4096)
def _alone(character: str) -> str | None:
    """Return what a character becomes wherever it stands, a space if it is in no word; None: that depends.

    All but letters of other scripts and the mark that makes й.
    """
    folded = fold(character)
    if character in _DEPENDING or _UNSPACED.search(folded):
        return None
    if folded and not any(map(_is_word, folded)):
        return " "
    return folded if folded.isascii() else None


def _is_word(character: str) -> bool:
    return character not in "_" and (character.isalnum() or character in _LETTERS_OF_THEIR_OWN)


def _fold_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Write characters outside the code page as what they become; leave the short way if that depends."""
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
"""Characters of the code page that become several."""


def _octet(octet: int) -> int:
    """Return what an octet of the code page becomes."""
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


def _short_way(text: str) -> bytes | None:
    """Return the folded words in UTF-8 with spaces between; None if only the long way tells them."""
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
    return None if _DEPENDS in octets else octets.decode(_CODE_PAGE).encode()
