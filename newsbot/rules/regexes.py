"""Compiles and searches the regular expressions of rule files with RE2.

RE2 (https://github.com/google/re2/wiki/Syntax) matches in time linear in the length of the URL. Therefore it
has no look-around and no back-references. All patterns of a rule are compiled to one automaton. A search
takes 1 to 2 µs per URL, however many patterns the rule has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol, cast

import re2

MAX_LENGTH: Final = 1000
"""Maximum length of a pattern, in characters."""
_PATTERN_MEMORY: Final = 256 * 1024
"""Maximum number of bytes that RE2 may use for one pattern. Patterns that need more are refused."""
_SET_MEMORY: Final = 2 * 2**20
"""Number of bytes that RE2 may use for all patterns of a rule.

``_INSTRUCTION_MEMORY`` is added for each of their instructions.

When this memory is full, RE2 drops cached states. A search fails only if a single step needs more than that.
"""
_INSTRUCTION_MEMORY: Final = 256
"""Number of bytes that RE2 may use for each instruction of the compiled patterns."""
_READ_AS_TEXT: Final = re.compile(r"(?<!\\)\{(?:,\d+|\d{5,},?\d*|\d+,\d{5,})\}")
"""Repeat counts that Python's ``re`` accepts and RE2 reads as literal text."""
_REMEDIES: Final = {
    "(?=": "look-ahead is not supported; write out what may follow",
    "(?!": "look-ahead is not supported; put what must not match into a deny pattern",
    "(?<=": "look-behind is not supported; write out what comes before",
    "(?<!": "look-behind is not supported; put what must not match into a deny pattern",
    "(?>": "atomic groups are not supported and not needed; write (?:…)",
    "(?(": "conditional groups are not supported; write one pattern for each case",
    "(?P": "back-references are not supported; write the parts out",
    "(?#": "comments are not supported; put them into a line that begins with #",
    "(?x": "the flag x is not supported; write the pattern without spaces and comments",
    "\\Z": "write $ for the end of the address",
    "\\u": "URLs are percent-encoded; write %D0%9D for Н and so on",
}
"""Advice on constructs that RE2 refuses, by the start of the construct that RE2's message quotes."""


class Regex(Protocol):
    """A compiled expression."""

    pattern: str
    programsize: int
    """Number of RE2 instructions."""

    def search(self, text: str) -> object | None:
        """Return a match anywhere in ``text``, or None."""


def compile_pattern(text: str) -> Regex:
    """Return the compiled expression.

    Raises ``ValueError`` if it is not valid. The message states the fault and, if possible, what to write
    instead.
    """
    if not text:
        raise ValueError("an empty pattern matches every URL; write for example ^/news/\\d+")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    # RE2 would accept such a pattern, but it would never match what the author wants.
    if (count := _READ_AS_TEXT.search(text)) is not None:
        raise ValueError(f"bad pattern {text!r}: {count[0]} is not a repeat count; write for example {{0,5}}")
    try:
        return cast("Regex", re2.compile(text, _options(_PATTERN_MEMORY)))
    except re2.error as error:
        raise ValueError(f"bad pattern {text!r}: {_explain(error)}") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"bad pattern {text!r}: it contains half of a surrogate pair") from error


def _explain(error: re2.error) -> str:
    """Return RE2's message about a pattern, with advice what to write instead."""
    said = error.args[0]
    message = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    kind, _, part = message.partition(": ")
    if kind == "invalid escape sequence" and part[1:].isdecimal():
        return f"{message}; back-references are not supported; write the parts out"
    if kind == "bad repetition operator" and part.endswith("+"):
        return f"{message}; possessive repeats are not supported and not needed; write {part[:-1]}"
    if kind == "invalid repetition size":
        return f"{message} repeats too much; write + or *"
    if kind.startswith("pattern too large"):
        return "it is too large with its repeat counts written out; make it shorter"
    remedies = [remedy for beginning, remedy in _REMEDIES.items() if part.startswith(beginning)]
    return "; ".join([message, *remedies])


class PatternSet:
    """Expressions that are searched together. Each must be valid for :func:`compile_pattern`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self._set: re2.Set | None = None

    def first(self, text: str) -> int | None:
        """Return the index of the first expression that matches anywhere in ``text``, or None."""
        if self._set is None:
            if not self._texts:
                return None
            self._set = self._compiled()
        # URLs are ASCII. A stray half of a surrogate pair must not stop a crawl.
        found = self._set.Match(text.encode("utf-8", "surrogatepass"))
        return min(found) if found else None

    def _compiled(self) -> re2.Set:
        """Build the automaton of all expressions.

        This happens at the first search, because most of the loaded rules are never searched.
        """
        size = sum(compile_pattern(text).programsize for text in self._texts)
        patterns = re2.Set.SearchSet(_options(_SET_MEMORY + _INSTRUCTION_MEMORY * size))
        for text in self._texts:
            patterns.Add(text)
        patterns.Compile()
        return patterns


@lru_cache(1024)
def pattern_set(texts: tuple[str, ...]) -> PatternSet:
    """Return the set of these expressions. Rules with equal expressions share it."""
    return PatternSet(texts)


def _options(memory: int) -> re2.Options:
    options = re2.Options()
    options.max_mem = memory
    options.never_capture = True  # only the fact of a match is used, and this is faster
    options.log_errors = False  # RE2 would write them to stderr
    return options
