"""Splits texts into normalized words, for duplicate keys, signatures and full-text search.

:func:`fold` returns the same string for texts that people consider equal. It unifies case, ё and е, accents,
ligatures and widths (Unicode's NFKD, https://www.unicode.org/reports/tr15/). It removes invisible characters
and the vowel points of Arabic and Hebrew. In a word that mixes Latin and Cyrillic letters, it replaces
letters that look like letters of the other script. й, the Japanese voiced sounds and the vowel signs of
Indian scripts are not changed, because they are letters and not accents.

Words are runs of letters and digits. In scripts without spaces (Chinese, Japanese, Thai …) each character is
a word. Otherwise a whole text would be one word.

For any input, all functions take time that is linear in the length of the text.

For full-text search, words are cut to their stems. All forms of a word have the same stem. PyStemmer computes
the stem with Snowball's algorithm for the language of the article (https://snowballstem.org). Cyrillic words
are always stemmed as Russian. If there is no algorithm for the language, words with only ASCII letters are
stemmed as English. Other words are compared unchanged. Stored texts and queries are treated alike.

The functions for single lines clean and compare strings, and recognise code, placeholders and names of people
by their form.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from html import unescape
from itertools import islice, product

import Stemmer

VERSION = 2
"""Version of the words. It is increased if a change of the code produces different words for the same text.

After an increase, values that were computed from words are outdated. There was one exception: in November
2026, the replacement of look-alike letters was added without a new version.
"""

MAX_TEXT = 2_000_000
"""Maximum number of characters of a text that are used. A long novel has one million."""

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9d"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
"""Characters of scripts that are written without spaces, in the form that is used inside a regex class."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


def _ranges(codes: Iterable[int]) -> str:
    """Return the inside of a regex class with the characters ``codes``. ``codes`` must be in ascending
    order."""
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
# Combining classes are 0 for vowel signs, 9 for viramas, and 129 to 132 for Tibetan vowels. Accents and
# nuktas have other classes.
_VOWELS = frozenset(
    chr(code)
    for codes in _INDIC
    for code in codes
    if unicodedata.category(chr(code))[0] == "M" and unicodedata.combining(chr(code)) in (0, 9, 129, 130, 132)
)
"""Vowel signs and viramas of the scripts of South Asia and Tibet: they are marks in Unicode, but parts of
words."""
# \w also matches the underscore, so callers must replace underscores with spaces first.
_LETTER = rf"\w{_ranges(sorted(map(ord, _VOWELS)))}"
_WORD = re.compile(f"[{_LETTER}]+")
_WORD_OR_CHARACTER = re.compile(rf"[{UNSPACED}\u3099\u309a]|(?:(?![{UNSPACED}])[{_LETTER}])+")

_LETTERS_OF_THEIR_OWN = "\u3099\u309a"  # Japanese sound marks: か and が are different letters
_SHORT_I = "и\u0306"  # й, decomposed
_SAME = (
    ("ı", "i"),
    ("ʼ", "'"),
    ("ς", "σ"),
    ("\u0640", ""),
)  # dotless i, the letter apostrophe, final sigma, tatweel
_FEW = 8
"""Maximum number of different characters that :func:`_drop_marks` removes with ``str.replace``."""
_DEPENDING = _LETTERS_OF_THEIR_OWN + "\u0306"
"""Marks whose folded form depends on the character before them."""
_SHORT = MAX_TEXT // 18
"""Maximum length for the fast path.

Longer texts may be cut in :func:`_decompose`, where one character becomes up to 18.
"""
_BEYOND = re.compile(r"[^\x00-\x7fа-яё]")
"""Matches characters that may be marks, invisible or decomposable."""


def fold(text: str) -> str:
    """Return ``text`` in a normal form. Words that people consider equal become equal strings.

    Folding a folded text does not change it.
    """
    text = _decompose(text.casefold()).casefold()  # casefold() again: NFKD turns ™ into the capitals TM
    text = _decompose(text)
    for letter, same in _SAME:
        text = text.replace(letter, same)
    return _MIXED.sub(_in_one_script, unicodedata.normalize("NFC", text))


_CYRILLIC = "\u0430-\u045f"
_MIXED = re.compile(rf"(?<![^\W\d_])(?:[a-z]++[{_CYRILLIC}]|[{_CYRILLIC}]++[a-z])[^\W\d_]*+")
"""Matches a word that begins in one of the two scripts and continues in the other script.

The search takes linear time, because it never backtracks.
"""
_LATIN_OF: dict[str, str | int | None] = dict(zip("авсеніјкморѕтху", "abcehijkmopstxy", strict=True))
"""Cyrillic letter -> Latin letter that looks like it, in lower or upper case (Unicode's TR 39)."""
_CYRILLIC_OF: dict[str, str | int | None] = {str(latin): letter for letter, latin in _LATIN_OF.items()}


def _in_one_script(word: re.Match[str]) -> str:
    """Return the word in one script, with the letters of the other script replaced by look-alikes.

    If one of these letters has no look-alike, the word is returned unchanged.
    """
    signs = set(word[0])
    latin = {sign for sign in signs if sign.isascii()}
    # A word that could be written in either script becomes Cyrillic.
    for foreign, table in ((latin, _CYRILLIC_OF), (signs - latin, _LATIN_OF)):
        if foreign <= table.keys():
            return word[0].translate(str.maketrans(table))
    return word[0]


WRITTEN: dict[int, str | None] = str.maketrans({"œ": "oe", "æ": "ae"}) | dict.fromkeys(
    map(ord, "\u00ad\u200b\u200c\u200d")
)
"""For searches: letters that many people write as two letters, and signs that many people leave out."""
_PLAIN = re.compile("[0-9a-z]+|[а-я]+")
"""Matches most words in lower case. Folding does not change them."""


def letters(word: str) -> str:
    """Return a word as it is searched: folded, with letters and digits only. The result may be empty."""
    folded = word.casefold()
    if _PLAIN.fullmatch(folded):
        return folded
    return "".join(one for one in fold(folded.translate(WRITTEN)) if one.isalnum() or one in _VOWELS)


def tokens(text: str) -> list[str]:
    """Return the words of ``text`` in order, folded."""
    return [token.decode() for token in token_bytes(text)]


def is_unspaced(word: str) -> bool:
    """True for a character of a script without spaces, which is a word in :func:`tokens`."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def token_bytes(text: str) -> list[bytes]:
    """Return the words of ``text`` in order, folded, as UTF-8. Signatures are hashes of these bytes."""
    text = text[:MAX_TEXT]
    short = _short_way(text)
    if short is not None:
        return short.split()
    folded = fold(text)
    pattern = _WORD if _UNSPACED.search(folded) is None else _WORD_OR_CHARACTER
    return " ".join(pattern.findall(folded.replace("_", " "))).encode().split()


def word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the words of ``text`` as they are written (not folded).

    Marks and invisible characters belong to the word around them, so :func:`fold` of each match is one word.
    The caller must first replace ``_`` with a space, because ``_`` separates words, but the pattern would
    match it.
    """
    if _RARE.search(text) is None:
        return _WRITTEN_WORD
    spaced, unspaced = _written()
    return spaced if _UNSPACED.search(text) is None else unspaced


_WRITTEN_WORD = re.compile("\\w[\\w\u00ad\u0300-\u036f\u0483-\u0487\u200b-\u200f\u2060\ufeff]*")
"""The fast pattern for nearly all English and Russian texts. It takes half the time of the full patterns."""
_RARE = re.compile(
    "[\u0488-\u0489\u0590-\u1dff\u202a-\u202e\u2061-\u206f\u20d0-\u20ff\u2ce0-\uabff\uf900-\ufefe\uff00-\U0010ffff]"
)
"""Characters that the fast pattern does not handle, and characters of scripts without spaces."""
_WITH_MARKS = (
    *((0xAD, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0x13460), (0x16AF0, 0x17000)),
    *((0x1BC90, 0x1BCB0), (0x1CF00, 0x1E990), (0xE0000, 0xE01F0)),
)
"""Unicode ranges with marks and invisible characters."""


@cache
def _written() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the two patterns of words as written. The second pattern is for texts with unspaced scripts."""
    places = (range(*ends) for ends in _WITH_MARKS)
    inside = _ranges(code for codes in places for code in codes if _is_invisible(chr(code)))
    return re.compile(rf"\w[\w{inside}]*"), re.compile(
        rf"[{UNSPACED}][{inside}]*|(?![{UNSPACED}])\w(?:(?![{UNSPACED}])[\w{inside}])*"
    )


def _decompose(text: str) -> str:
    """Return ``text`` with decomposed characters, without marks and invisible characters. й is kept."""
    # Marks are also removed before normalize(), because normalize() sorts a long run of marks in quadratic
    # time.
    text = _drop_marks(text)
    if not unicodedata.is_normalized("NFKD", text):
        # NFKD can turn one character into 18 characters. The text is cut so that the memory is bounded.
        text = _drop_marks(unicodedata.normalize("NFKD", text)[:MAX_TEXT])
    return text


def _drop_marks(text: str) -> str:
    text = text.replace(_SHORT_I, "й")  # NFKD has split it, and its breve would be removed as an accent
    unwanted = [character for character in set(_BEYOND.findall(text)) if _is_mark(character)]
    # translate() is slow but needs only one pass. replace() is fast but needs one pass for each character.
    if len(unwanted) > _FEW:
        return text.translate(dict.fromkeys(map(ord, unwanted)))
    for character in unwanted:
        text = text.replace(character, "")
    return text


def _is_mark(character: str) -> bool:
    return _is_invisible(character) and character not in _LETTERS_OF_THEIR_OWN and character not in _VOWELS


# --- the fast path
# It handles nearly all English and Russian texts, in a third of the time. The text is encoded in a code page
# with one octet per character, so one bytes.translate() folds the whole text.


@lru_cache(maxsize=4096)
def _alone(character: str) -> str | None:
    """Return the folded form of a character outside the code page, or None if the fast path cannot handle it.

    A character that does not belong to words becomes a space. The result is None for letters of other scripts
    and for marks whose folded form depends on the character before them.
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
    """Replace characters outside the code page. This is an error handler for ``codecs``.

    Raises ``error`` if :func:`_alone` returns None for a character. The caller then uses the slow path.
    """
    assert isinstance(error, UnicodeEncodeError)
    folded = []
    # All characters of a run are replaced in one call, because the codec searches for the end of the run in
    # each call. In a text of another script, the fast path ends at the first character.
    for character in error.object[error.start : error.end]:
        if (alone := _alone(character)) is None:
            raise error
        folded.append(alone)
    return "".join(folded), error.end


_CODE_PAGE = "cp1251"
_FOLDING = "newsbot-folding"
codecs.register_error(_FOLDING, _fold_unencodable)
_DELETED, _DEPENDS = b"\xad", b"\x01"  # the soft hyphen, and a mark for octets that have no replacement
_SEVERAL = {"№": "no", "™": "tm"}
"""Characters of the code page whose folded form has several characters."""


def _octet(octet: int) -> int:
    """Return the folded form of an octet of the code page as an octet; _DEPENDS if there is no such form."""
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
    """Return the script of a folded octet: ``a`` for Latin, ``b`` for Cyrillic, else a space."""
    character = bytes((octet,)).decode(_CODE_PAGE, "replace")
    return ord("b" if "\u0430" <= character <= "\u045f" else "a" if "a" <= character <= "z" else " ")


_SCRIPTS = bytes(map(_script, range(256)))


def _short_way(text: str) -> bytes | None:
    """Return the folded words of ``text`` as UTF-8, separated by spaces.

    The result is None if the slow path is needed.
    """
    if text.isascii():
        return text.encode().translate(_OCTETS)
    if len(text) > _SHORT:
        return None
    try:
        octets = text.encode(_CODE_PAGE, _FOLDING).translate(_OCTETS, _DELETED)
        if _DEPENDS in octets:
            # translate() replaces an octet with one octet. So characters with longer forms are replaced in
            # the text first.
            for character, several in _SEVERAL.items():
                text = text.replace(character, several)
            octets = text.encode(_CODE_PAGE, _FOLDING).translate(_OCTETS, _DELETED)
    except UnicodeEncodeError:
        return None
    if _DEPENDS in octets:
        return None
    words, scripts = octets.decode(_CODE_PAGE), octets.translate(_SCRIPTS)
    # The regex is slow, so it is used only if letters of both scripts are next to each other.
    if b"ab" in scripts or b"ba" in scripts:
        words = _MIXED.sub(_in_one_script, words)
    return words.encode()


def clean(text: str) -> str:
    """Return ``text`` with ``?`` for lone surrogates (from broken JSON), which cannot be written to files."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


MAX_VARIANTS = 32
"""Maximum number of stem sequences that are searched for one query."""
_MAX_WORD = 64
"""Maximum number of characters of a word that are used."""
_MAX_KNOWN = 1 << 16
"""Maximum number of words whose stems are kept, in all languages together."""
_CYRILLIC_LETTER = re.compile("[а-я]")
_CONSONANT_END = re.compile("[бвгджзйклмнпрстфхцчшщ]$")
_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch",
    "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "sr": "serbian", "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball's algorithm by language code, except Russian and English."""


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` as they are written."""
    text = _spaced(text)
    return [word[:_MAX_WORD] for word in word_pattern(text).findall(text) if letters(word)]


def stemming(language: str | None) -> str:
    """Return the language code that is used to stem an article's words.

    ``language`` is the article's language tag. The result is empty for Russian, English, and languages
    without an algorithm.
    """
    code = (language or "").lower().partition("-")[0]
    return code if code in _ALGORITHMS else ""


def stems(text: str, language: str = "") -> list[str]:
    """Return the stem of every word of ``text`` in order. ``language`` is a result of :func:`stemming`."""
    text = _spaced(text)
    return list(filter(None, map(_known(language).__getitem__, word_pattern(text).findall(text))))


def placed_stems(text: str, language: str = "") -> Iterator[tuple[str, int, int]]:
    """Yield the stem of every word, and the positions in ``text`` where the word starts and ends."""
    text = _spaced(text)
    for match in word_pattern(text).finditer(text):
        found = stem(match[0], language)
        if found:
            yield found, match.start(), match.end()


def stem(word: str, language: str = "") -> str:
    """Return the stem of one word as written. The result is empty if the word has no letter or digit."""
    return _known(language)[word]


_TABLES: list[_Stems] = []
"""The stems of all languages."""


class _Stems(dict[str, str]):
    """The stems of words as written, in one language. ``map`` is twice as fast as with ``lru_cache``."""

    def __init__(self, language: str) -> None:
        self._language = language
        _TABLES.append(self)

    def __missing__(self, word: str) -> str:
        if len(word) > _MAX_WORD:
            return self[word[:_MAX_WORD]]
        if sum(map(len, _TABLES)) >= _MAX_KNOWN:
            for table in _TABLES:
                table.clear()
        self[word] = found = _stem(word, self._language)
        return found


_known = cache(_Stems)


def _stem(word: str, language: str) -> str:
    folded = letters(word)
    # A Cyrillic word is stemmed as Russian in every article, whatever its language is.
    if _CYRILLIC_LETTER.search(folded):
        return str(_stemmer("russian").stemWord(folded))
    if language:
        # These algorithms need accents. So accents are removed from the stem and not from the word.
        whole = unicodedata.normalize("NFC", word.casefold().translate(WRITTEN))
        return letters(str(_stemmer(_ALGORITHMS[language]).stemWord(whole))) or folded
    return str(_stemmer("english").stemWord(folded)) if folded.isascii() else folded


def query_stems(text: str, languages: Iterable[str] = ("",)) -> list[tuple[str, ...]]:
    """Return at most MAX_VARIANTS sequences of stems that match the query ``text``.

    ``languages`` are the languages of the articles to search, as :func:`stemming` returns them. The query may
    omit accents.
    """
    words = words_of(text)
    found: dict[tuple[str, ...], None] = {}
    for language in languages:
        asked = [forms for word in words if (forms := _query_forms(word, language))]
        if asked:
            # Each language gets at most half of the sequences, so that the first language does not take all
            # of them.
            found |= dict.fromkeys(islice(product(*asked), MAX_VARIANTS // 2))
    return list(islice(found, MAX_VARIANTS))


def _query_forms(word: str, language: str) -> tuple[str, ...]:
    """Return the stems under which the forms of a word were stored.

    Most words have one stem. But for some Russian nouns without a case ending, Snowball mistakes the end of
    the word for the ending of a verb or an adjective. Киев, кредит, канал become ки, кред, кана, while Киеве,
    кредита, канале become Киев, кредит, канал. A query for either form therefore searches for both stems.
    """
    first = stem(word, language)
    bare = letters(word)
    if not _CYRILLIC_LETTER.search(bare):
        return tuple(dict.fromkeys(filter(None, (first, language and stem(bare, language)))))
    if bare != first and _CONSONANT_END.search(bare):  # e.g. Киев, which is the stem of its other forms
        return (first, bare)
    second = stem(first)
    # e.g. Киеве: its stem is Киев, but the word Киев was stored under ки
    if second != first and _CONSONANT_END.search(first):
        return (first, second)
    return (first,)


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)  # 0 switches off its cache, because stem() has a cache


def _spaced(text: str) -> str:
    # The length stays the same, so offsets into the text stay valid. The letter apostrophe (U+02BC) separates
    # words like the apostrophes U+0027 and U+2019, which other people write in the same words.
    return text[:MAX_TEXT].replace("_", " ").replace("\u02bc", "'")


# The scripts from Hebrew to Mongolian, further scripts of Asia, and emoji. In these scripts, joiners are
# spelling: they separate or connect the shapes of letters.
_JOINED = "\u0590-\u1aff\ua840-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\u2190-\u2bff\U00010a00-\U0001faff"
# The virama of each Indian script. A joiner after it may end a word.
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
# Thai, Lao, Burmese and Khmer, in which U+200B separates words.
_UNSPACED_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SPELLING = (
    f"(?<=[{_JOINED}])\u200c(?=\u200c*[{_JOINED}])|(?<=[{_VIRAMAS}])[\u200c\u200d]|(?<=[{_JOINED}])\u200d(?!\\s|$)|"
    f"(?<=[{_UNSPACED_LETTERS}])\u200b(?=\u200b*[{_UNSPACED_LETTERS}])"
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
