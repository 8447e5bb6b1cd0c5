"""Words as full-text search compares them: normalized, and cut to their stem.

Russian and English word forms meet in their stem (Snowball's algorithms, by PyStemmer); words of
other alphabets are compared as they are. Both what is stored and what is asked goes through here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from newsbot.text.words import MAX_TEXT, letters, word_pattern

_MAX_WORD = 64
_CYRILLIC = re.compile("[а-я]")
_CONSONANT_END = re.compile("[бвгджзйклмнпрстфхцчшщ]$")
_russian = Stemmer.Stemmer("russian", 0)  # 0: no cache of its own, ours is in front
_english = Stemmer.Stemmer("english", 0)


def stems(text: str) -> list[str]:
    """Return the stem of every word of ``text`` in order."""
    text = _spaced(text)
    return [found for word in word_pattern(text).findall(text) if (found := stem(word[:_MAX_WORD]))]


def placed_stems(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the stem of every word with where the word starts and ends in ``text``."""
    text = _spaced(text)
    for match in word_pattern(text).finditer(text):
        found = stem(match[0][:_MAX_WORD])
        if found:
            yield found, match.start(), match.end()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of one word as written; empty if nothing of it is a letter or digit."""
    folded = letters(word)
    if folded.isascii():
        return str(_english.stemWord(folded))
    return str(_russian.stemWord(folded)) if _CYRILLIC.search(folded) else folded


def asked_stems(text: str) -> list[tuple[str, ...]]:
    """Return for every word of a question the stems under which its forms were stored.

    One, mostly. But Snowball takes the end of some Russian nouns for that of a verb or adjective where
    they stand without an ending: Киев, кредит, канал become ки, кред, кана, while Киеве, кредита, канале
    become Киев, кредит, канал. Asking for either form looks for both.
    """
    text = _spaced(text)
    return [asked for word in word_pattern(text).findall(text) if (asked := _asked(word[:_MAX_WORD]))]


def _asked(word: str) -> tuple[str, ...]:
    first = stem(word)
    bare = letters(word)
    if bare != first and _CONSONANT_END.search(bare):  # Киев: the other forms have it as their stem
        return (first, bare)
    second = stem(first)
    if second != first and _CONSONANT_END.search(first):  # Киеве: the bare form was cut further
        return (first, second)
    return (first,) if first else ()


def _spaced(text: str) -> str:
    return text[:MAX_TEXT].replace("_", " ")  # the same length: places stay right
