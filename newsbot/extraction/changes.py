"""What makes an edit of an article a new version of it."""

from __future__ import annotations

from collections import Counter

from newsbot.extraction.strings import key, word_set, words

LEAST_WORDS = 8
"""Words that come or go before an edit of a text is substantial …"""
LEAST_SHARE = 0.02
"""… or this share of a short text's words, whichever is less; but more than two words."""
_PROSE = 60
"""Letters of a line whose numbers count; numbers in shorter ones count readers and comments."""
_NEGATIONS = word_set(
    "no not never none nobody nothing neither nor without denied nicht kein keine keinen keiner nie niemand",
    "nichts ohne pas aucun aucune jamais rien sans ni nunca jamás ningún ninguna ningun nada sin não nenhum",
    "non nessun nessuno nessuna mai niente senza не нет ни нету никто ничего никогда без ні немає ніхто",
    "нічого ніколи nie nikt nic nigdy bez ne niet geen niemand nooit ikke ingen inte aldrig ei değil yok hiç",
)


def is_substantial(old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Return whether ``new`` differs from ``old`` in substance; both are title and text.

    Punctuation, case, white space and the order of paragraphs are no substance; another number or name in
    the headline is, and so is another number or a negation in a sentence, be it the only word that changed.
    """
    if key(old[0]) != key(new[0]):
        return True
    before, after = Counter(words(old[1])), Counter(words(new[1]))
    if any(word in _NEGATIONS for word in (before - after) + (after - before)):
        return True
    if _numbers(old[1]) != _numbers(new[1]):
        return True
    changed = max((before - after).total(), (after - before).total())
    length = max(before.total(), after.total())
    return changed > 2 and changed >= min(LEAST_WORDS, max(1.0, LEAST_SHARE * length))


def _numbers(text: str) -> Counter[str]:
    """The words with a figure in them, of the lines that are prose."""
    lines = (line for line in text.splitlines() if len(line) >= _PROSE)
    return Counter(word for line in lines for word in words(line) if any(sign.isdigit() for sign in word))
