"""Gives the most frequent small words of languages in Latin, Cyrillic, Arabic and Devanagari letters."""

from __future__ import annotations

from newsbot.text.languages import by_language

PROFILES: dict[str, frozenset[str]] = {
    code: frozenset(words) for code, words in by_language("stop_words").items()
}
"""Frequent words by ISO 639-1 code of the language."""
