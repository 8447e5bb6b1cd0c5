"""Words as full-text search compares them: folded, and cut to their stem.

Russian and English word forms meet in their stem (Snowball's algorithms, by PyStemmer); words of
other alphabets are compared as they are. Both what is stored and what is asked goes through here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from newsbot.words import MAX_TEXT, fold, word_pattern

_MAX_WORD = 64
_CYRILLIC = re.compile("[а-я]")
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
    folded = "".join(character for character in fold(word) if character.isalnum())
    if folded.isascii():
        return str(_english.stemWord(folded))
    return str(_russian.stemWord(folded)) if _CYRILLIC.search(folded) else folded


def _spaced(text: str) -> str:
    return text[:MAX_TEXT].replace("_", " ")  # the same length: places stay right
