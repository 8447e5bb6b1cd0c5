"""Decides whether an edit of an article makes a new version."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher

from newsbot.pages.extraction.body.furniture import is_foreign
from newsbot.pages.extraction.fields.dates.moments import has_digit
from newsbot.pages.extraction.strings import key, size, words
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.languages import words as words_of

LEAST_WORDS = 8
"""An edit of any text is substantial if at least this number of words was added or removed."""
LEAST_SHARE = 0.02
"""An edit of a short text is substantial if at least this share of its words, and more than two words, were
changed."""
_PROSE = 60
"""Minimum length of a line whose numbers are compared.

Shorter lines often contain numbers of readers and comments.
"""
_WITHIN = re.compile(r"(?<=[\w,;:)»”] )[\"'«“„(]?(\w{3,40})\b")
"""Words inside a sentence. If such a word begins with a capital letter, it is a name (or a German noun)."""
_ALIKE = 0.75
"""Two names with at least this similarity (``ratio()`` of difflib) count as forms of one name."""
_TIME_LINE = r"^\W{0,3}(?:last |first )?(?:%(published)s|%(updated)s)"
"""The start of a line that states when the text was published or changed."""
_MAX_TIME_LINE = 200
"""Maximum length of a line that states such a time, in characters."""


def is_substantial(old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Return True if ``new`` differs from ``old`` in substance. Each is a pair of title and text.

    Changes of punctuation, case, white space, the order of paragraphs, links to other articles, labels, and
    lines that state the time of an edit are not substantial. A changed word in the headline is substantial. A
    changed name, number or negation in a sentence is substantial too, even if no other word changed.
    """
    if key(old[0]) != key(new[0]):
        return True
    old_lines, new_lines = _lines(old[1]), _lines(new[1])
    # The order of words is ignored, because moving a paragraph is not substantial.
    before, after = _count(old_lines), _count(new_lines)
    # A single negation or number may change the meaning of a sentence: "not guilty", "two dead".
    decisive = words_of("negations") | words_of("number_words")
    if any(word in decisive for word in (before - after) + (after - before)):
        return True
    if _numbers(old_lines) != _numbers(new_lines):
        return True
    changed = max((before - after).total(), (after - before).total())
    length = max(before.total(), after.total())
    if changed > 2 and changed >= min(LEAST_WORDS, max(1.0, LEAST_SHARE * length)):
        return True
    # A few changed words remain. They matter only if one name replaces another.
    return _is_renamed(
        _names(old_lines) & (before - after).keys(), _names(new_lines) & (after - before).keys()
    )


def _lines(text: str) -> list[str]:
    """Return the lines of the story.

    Links to other articles, labels of adverts and lines with the time of an edit are left out.
    """
    return [line for line in text.splitlines() if not is_foreign(line) and not _states_time(line)]


def _states_time(line: str) -> bool:
    """True for a line that states when the text was published or changed."""
    return (
        len(line) <= _MAX_TIME_LINE and bool(compiled(_TIME_LINE).match(line)) and has_digit(line) is not None
    )


def _count(lines: list[str]) -> Counter[str]:
    return Counter(word for line in lines for word in words(line))


def _numbers(lines: list[str]) -> Counter[str]:
    """Count the words that contain a digit, in lines of prose."""
    found = (word for line in lines if size(line) >= _PROSE for word in words(line))
    return Counter(word for word in found if any(sign.isdigit() for sign in word))


def _is_renamed(removed: Iterable[str], added: Iterable[str]) -> bool:
    """True if a name was replaced by a different name.

    Two similar names are forms of one name, or one is a corrected spelling of the other name.
    """
    return any(SequenceMatcher(None, one, other).ratio() < _ALIKE for one in removed for other in added)


def _names(lines: list[str]) -> set[str]:
    """Return the capitalized words inside sentences, in lower case as ``strings.words`` returns them."""
    return {word.casefold() for line in lines for word in _WITHIN.findall(line) if word[0].isupper()}
