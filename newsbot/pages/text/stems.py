"""Normalizes words and cuts them to their stems, for full-text search.

All forms of a word have the same stem. PyStemmer computes the stem with Snowball's algorithm for the language
of the article (https://snowballstem.org). Cyrillic words are always stemmed as Russian. If there is no
algorithm for the language, words with only ASCII letters are stemmed as English. Other words are compared
unchanged. This module is used for both stored texts and queries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product

import Stemmer

from newsbot.pages.text.words import MAX_TEXT, WRITTEN, letters, word_pattern

MAX_VARIANTS = 32
"""Maximum number of stem sequences that are searched for one query."""
_MAX_WORD = 64
"""Maximum number of characters of a word that are used."""
_MAX_KNOWN = 1 << 16
"""Maximum number of words whose stems are kept, in all languages together."""
_CYRILLIC = re.compile("[а-я]")
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
    if _CYRILLIC.search(folded):
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
    if not _CYRILLIC.search(bare):
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
