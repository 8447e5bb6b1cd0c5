"""Cleans and compares strings, and recognises code, placeholders and names of people by their form."""

from __future__ import annotations

import re
from html import unescape

# The scripts from Hebrew to Mongolian, further scripts of Asia, and emoji. In these scripts, joiners are
# spelling: they separate or connect the shapes of letters.
_JOINED = "\u0590-\u1aff\ua840-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\u2190-\u2bff\U00010a00-\U0001faff"
# The virama of each Indian script. A joiner after it may end a word.
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
# Thai, Lao, Burmese and Khmer, in which U+200B separates words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SPELLING = (
    f"(?<=[{_JOINED}])\u200c(?=\u200c*[{_JOINED}])|(?<=[{_VIRAMAS}])[\u200c\u200d]|(?<=[{_JOINED}])\u200d(?!\\s|$)|"
    f"(?<=[{_UNSPACED}])\u200b(?=\u200b*[{_UNSPACED}])"
)
"""Matches joiners and separators of words that belong to the spelling of a word."""
# Soft hyphens, zero-width characters, direction marks, byte order marks and control characters.
_INVISIBLE = re.compile(
    f"(?!{_SPELLING})"
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufffe\uffff\x00-\x08\x0e-\x1b\x7f]"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,24});")
_TAG = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z\d:-]{0,20})(\s[^<>]{0,2000})?/?>|</?[a-zA-Z][^<>]{0,500}>|<!--.{0,2000}?-->",
    re.DOTALL,
)
# Elements whose end tag is missing in texts that were cut.
_FORMATS = frozenset({"b", "br", "em", "font", "hr", "i", "img", "li", "p", "span", "strong", "u", "wbr"})
_IN_WORDS = frozenset({"b", "em", "font", "i", "mark", "small", "span", "strong", "sub", "sup", "u", "wbr"})
# Each Chinese, Japanese or Korean character is a word, because these scripts have no spaces between words.
_WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af_]+"
)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_WIDTH = 55
"""Minimum length of the lines of a wrapped paragraph, except the last."""
_CJK = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_SHORTCODE = re.compile(
    r"(?:\[/?[a-z][\w-]{1,30}(?:\s[\w-]{1,30}=[^\[\]]{0,300})?/?\]\s?(?:https?://[^\s\[\]]{1,300}(?=\[))?){1,5}"
)
# Matches rules of CSS, calls and assignments.
_STATEMENT = re.compile(
    r"[\w)\]-]\s?\{\s?[\w-]+\s?:|[\w)]\.\w+\(|\b(?:var|let|const)\s\w+\s?=|\)\s?\{|@media|[\w\])]\s?=\s?[\w\[{(\"']"
)
_CODE = re.compile(r"[{}]|function\s{0,3}\(|\bvar\s|document\.")
_CALL = re.compile(r"\w\((?:[\"'{\[)]|new\s)|\|\||&&|=>|\)\s?;")
"""Matches signs of code that :data:`_CODE` does not match."""
# {{ name }}, {% end %}, ${name}, %%%SLOT%%%, ##SLOT##, <!-- more -->, <script>…</script>, <div id="ad"></div>
_PLACEHOLDER = re.compile(
    r"\{\{[^{}]{1,200}\}\}|\{%.{1,200}%\}|\$\{[^{}]{1,200}\}|(?P<sign>%{2,3}|#{2,3}|@{2,3})[^\s%#@].{0,100}(?P=sign)"
    r"|<!--.{0,500}-->|<(?P<tag>script|style|iframe|div|ins|noscript)\b[^<>]{0,500}>.{0,1000}</(?P=tag)>"
)


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


def preformatted(text: str) -> list[str]:
    """Return the lines of a ``<pre>``. Lines of a paragraph that was wrapped to a width are joined."""
    found: list[str] = []
    for paragraph in _BLANK_LINES.split(text.replace("\r", "")):
        lines = paragraph.split("\n")
        is_wrapped = len(lines) > 2 and min(map(len, lines[:-1])) >= _WIDTH
        found += [paragraph] if is_wrapped else lines
    return found


def plain(text: str) -> str:
    """Return a metadata value as readable text. Entities are decoded, and tags are removed.

    Entities that were encoded two or three times are decoded too.

    >>> plain("Black &amp;amp; white: <i>a  story</i>")
    'Black & white: a story'
    >>> plain("The &lt;dialog&gt; element")
    'The <dialog> element'
    """
    # Systems that encode a text for HTML and again for JSON-LD write &amp;amp;.
    for _ in range(3):
        if not _ENTITY.search(text):
            break
        text = unescape(text)
    return squash(untagged(text))


def untagged(text: str) -> str:
    """Return ``text`` without tags and comments.

    The name of an element in angle brackets is text if it has neither attributes nor an end tag.
    """
    if "<" not in text:
        return text
    lowered = text.lower()

    def replacement(tag: re.Match[str]) -> str:
        name = (tag[2] or "").lower()
        if name and not (tag[1] or tag[3] or name in _FORMATS or f"</{name}>" in lowered):
            return tag[0]
        return "" if name in _IN_WORDS else " "

    return _TAG.sub(replacement, text)


def resolved(text: str) -> str:
    """Return ``text`` with its entities decoded.

    Entities remain after parsing if the page encoded them twice.
    """
    return unescape(text) if "&" in text and _ENTITY.search(text) else text


def words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case. Each Chinese, Japanese or Korean character is a word."""
    # replace() is much faster than translate()
    return _WORDS.findall(text.replace("\u200c", "").replace("\u200d", "").casefold())


def key(text: str) -> str:
    """Return the words of ``text`` in lower case, joined by spaces.

    Keys are used to compare strings. Strings with equal keys differ only in case, punctuation and spaces.
    """
    return " ".join(words(text))


COMMENTS_HEADING = (
    r"^\W*(?:\d[\d.,]*\W*)?%(comments)s(?:\W*\d+)?\W*$|^[^.]{3,30}[(|·]\s?\d[\d.,]*\s%(comments)s\W*$"
)
"""Matches a heading such as "12 comments", "Kommentare (3)" or "Discussion (4 comments)", with the words of
all languages."""


_TEMPLATE = re.compile(r"\[\[.{0,40}|\{\{|\$\{|%%|<[%?]|\[[a-z]+_[a-z_]+\]")


def is_template(text: str) -> bool:
    """True for a value of a template that was not filled in: ``[[author]]``."""
    return _TEMPLATE.search(text) is not None


def looks_like_code(text: str) -> bool:
    """True for JavaScript or CSS that was mistaken for text."""
    return len(_CODE.findall(text[:2000])) > 3


def is_code(text: str) -> bool:
    """True for a line of JavaScript or CSS, and for a placeholder or shortcode that was not replaced."""
    if text[0] == "[" and _SHORTCODE.fullmatch(text):
        return True
    if text[0] in "{$%#@<" and _PLACEHOLDER.fullmatch(text):
        return True
    if text[-1] not in ";}":
        return False
    signs = len(_CODE.findall(text[:2000])) + len(_CALL.findall(text[:2000]))
    return signs > 1 and _STATEMENT.search(text) is not None


def size(text: str) -> int:
    """Return the length of ``text`` in letters.

    A Chinese, Japanese or Korean character counts as three letters, because it holds about as much
    information.
    """
    extra = 0 if text.isascii() else len(_CJK.findall(text))
    return len(text) + 2 * extra


_SMALL = word_set(
    "de del della di da do dos das du la le los las van von der den ter ten zu zum zur af av al el bin ibn",
    "bint abu ben y e i",
)
"""Small words inside a name. They are names everywhere, whatever the language of the page is."""


def is_full_name(name: str) -> bool:
    """True for the form of a first and a last name: "Jane van der Doe"."""
    parts = name.split()
    big = [word for word in parts if not is_small(word)]
    return (
        2 <= len(parts) <= 6
        and len(big) + ("-" in name and len(parts) > 1 and len(big) < 2) >= 2
        and len(big) <= 4
        and all(word[:1].isupper() for word in big)
    )


def is_uncased_name(name: str) -> bool:
    """True for a Chinese, Japanese or Korean name, and for two to four words of another script without
    capitals: "王小明", "أحمد علي"."""
    if not name.replace(" ", "").isalpha() or name.upper() != name.lower():
        return False
    return 2 <= len(name) <= 4 if _CJK.search(name) else 2 <= len(name.split()) <= 4


def is_small(word: str) -> bool:
    """True for a small word inside a name."""
    return word in _SMALL or word.startswith(("al-", "el-", "d'", "d’"))
