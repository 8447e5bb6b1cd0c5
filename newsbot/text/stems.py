"""Stems of words for full-text search: words are normalized and cut to their stem.

All forms of a word have the same stem (Snowball's algorithms, by PyStemmer), by the language of the article.
If the language is not known, Cyrillic words are stemmed as Russian and words of plain Latin letters as
English. Other words are compared unchanged. Stored texts and queries both use this module.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice, product

import Stemmer

from newsbot.text.words import MAX_TEXT, letters, word_pattern

MAX_VARIANTS = 32
"""Maximum number of stem sequences that are searched for one query."""
_MAX_WORD = 64
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
"""Languages besides Russian and English."""


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` as they are written."""
    text = _spaced(text)
    return [word[:_MAX_WORD] for word in word_pattern(text).findall(text) if letters(word)]


def stemming(language: str | None) -> str:
    """Return the language for stemming an article's words; empty for Russian and English."""
    code = (language or "").lower().partition("-")[0]
    return code if code in _ALGORITHMS else ""


def stems(text: str, language: str = "") -> list[str]:
    """Return the stem of every word of ``text`` in order; ``language``: see :func:`stemming`."""
    text = _spaced(text)
    return [found for word in word_pattern(text).findall(text) if (found := stem(word[:_MAX_WORD], language))]


def placed_stems(text: str, language: str = "") -> Iterator[tuple[str, int, int]]:
    """Yield the stem of every word with its start and end in ``text``."""
    text = _spaced(text)
    for match in word_pattern(text).finditer(text):
        found = stem(match[0][:_MAX_WORD], language)
        if found:
            yield found, match.start(), match.end()


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str = "") -> str:
    """Return the stem of one word as written; empty if it has no letter or digit."""
    folded = letters(word)
    if _CYRILLIC.search(folded):
        return str(_stemmer("russian").stemWord(folded))
    if language:  # its algorithm knows accents
        whole = unicodedata.normalize("NFC", word.casefold())
        return letters(str(_stemmer(_ALGORITHMS[language]).stemWord(whole))) or folded
    return str(_stemmer("english").stemWord(folded)) if folded.isascii() else folded


def asked_stems(text: str, languages: Iterable[str] = ("",)) -> list[tuple[str, ...]]:
    """Return the sequences of stems that match the query ``text``, at most MAX_VARIANTS.

    ``languages`` are those of the articles, see :func:`stemming`. Accents may be omitted in the query.
    """
    words = words_of(text)
    found: dict[tuple[str, ...], None] = {}
    for language in languages:
        asked = [forms for word in words if (forms := _asked(word, language))]
        if asked:
            found |= dict.fromkeys(islice(product(*asked), MAX_VARIANTS // 2))
    return list(islice(found, MAX_VARIANTS))


def _asked(word: str, language: str) -> tuple[str, ...]:
    """Return the stems under which the forms of a word were stored.

    Mostly there is one. But Snowball takes the end of some uninflected Russian nouns for the ending of a verb
    or adjective: Киев, кредит, канал become ки, кред, кана, while Киеве, кредита, канале become Киев, кредит,
    канал. A query for either form searches for both.
    """
    first = stem(word, language)
    bare = letters(word)
    if not _CYRILLIC.search(bare):
        return tuple(dict.fromkeys(filter(None, (first, language and stem(bare, language)))))
    if bare != first and _CONSONANT_END.search(bare):  # Киев: the other forms have it as their stem
        return (first, bare)
    second = stem(first)
    if second != first and _CONSONANT_END.search(first):  # Киеве: the bare form was cut further
        return (first, second)
    return (first,)


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)  # 0: no cache of its own, ours is in front


def _spaced(text: str) -> str:
    return text[:MAX_TEXT].replace("_", " ")  # the same length: places stay right
