"""What makes an edit of an article a new version of it."""

from __future__ import annotations

from collections import Counter

from newsbot.extraction.strings import key, words

LEAST_WORDS = 8
"""Words that come or go before an edit of a text is substantial …"""
LEAST_SHARE = 0.02
"""… or this share of a short text's words, whichever is less; but more than two words."""


def is_substantial(old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Return whether ``new`` differs from ``old`` in substance; both are title and text.

    Punctuation, case, white space and the order of paragraphs are no substance; another number or name in
    the headline is.
    """
    if key(old[0]) != key(new[0]):
        return True
    before, after = Counter(words(old[1])), Counter(words(new[1]))
    changed = max((before - after).total(), (after - before).total())
    length = max(before.total(), after.total())
    return changed > 2 and changed >= min(LEAST_WORDS, max(1.0, LEAST_SHARE * length))
