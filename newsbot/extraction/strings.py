"""Cleans and compares strings."""

from __future__ import annotations

import re
from html import unescape

# Soft hyphens, zero-width characters, direction marks, byte order marks and control characters.
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufffe\uffff\x00-\x08\x0e-\x1b\x7f]"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,24});")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
# Each Chinese, Japanese or Korean character is a word, because these scripts have no spaces between words.
_WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af_]+"
)
_CJK = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_CODE = re.compile(r"[{}]|function\s{0,3}\(|\bvar\s|document\.")


def word_list(*lines: str) -> tuple[str, ...]:
    """Return the words in ``lines``. It is used for tables of words in the source code."""
    return tuple(" ".join(lines).split())


def word_set(*lines: str) -> frozenset[str]:
    """Return the result of :func:`word_list` as a set."""
    return frozenset(word_list(*lines))


def squash(text: str) -> str:
    """Return ``text`` on one line.

    Runs of white space become one space, and invisible characters are removed.
    """
    line = " ".join(text.split())
    # Nearly all lines are printable. isprintable() is much faster than the regex.
    return line if line.isprintable() else " ".join(_INVISIBLE.sub("", line).split())


def plain(text: str) -> str:
    """Return a metadata value as readable text. Entities are decoded, and tags are removed.

    Entities that were encoded two or three times are decoded too.

    >>> plain("Black &amp;amp; white: <i>a  story</i>")
    'Black & white: a story'
    """
    # Systems that encode a text for HTML and again for JSON-LD write &amp;amp;.
    for _ in range(3):
        if not _ENTITY.search(text):
            break
        text = unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    return squash(text)


def resolved(text: str) -> str:
    """Return ``text`` with its entities decoded.

    Entities remain after parsing if the page encoded them twice.
    """
    return unescape(text) if "&" in text and _ENTITY.search(text) else text


def words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case. Each Chinese, Japanese or Korean character is a word."""
    return _WORDS.findall(text.casefold())


def key(text: str) -> str:
    """Return the words of ``text`` in lower case, joined by spaces.

    Keys are used to compare strings. Strings with equal keys differ only in case, punctuation and spaces.
    """
    return " ".join(words(text))


def looks_like_code(text: str) -> bool:
    """True for JavaScript or CSS that was mistaken for text."""
    return len(_CODE.findall(text[:2000])) > 3


def size(text: str) -> int:
    """Return the length of ``text`` in letters.

    A Chinese, Japanese or Korean character counts as three letters, because it holds about as much
    information.
    """
    extra = 0 if text.isascii() else len(_CJK.findall(text))
    return len(text) + 2 * extra
