"""Finds several texts and regular expressions in the visible text of a page, within a time limit.

All texts are combined into one regular expression: a prefix tree in a look-ahead. One pass finds the longest
text that begins at each position. Texts that are prefixes of this text begin there too. Therefore all texts
are found, even if they overlap. Case is ignored.

Regular expressions of users are searched line by line, in windows (parts of a line). They are run by the
package ``regex``, because it supports the letters of all languages and can stop any expression at a time
limit.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import regex

from newsbot.pages.extraction.visible import smooth

MAX_POSITIONS = 1000
"""Maximum number of stored positions of one text on a page. Further positions are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One hit: a place in the visible text of a page where a searched text was found."""

    start: int
    """The position of the first character of the hit, counted from 0."""
    end: int
    """The position of the first character after the hit."""
    line: int
    """The line number, counted from 1."""
    before: str = ""
    """The characters before the hit, with spaces for line breaks."""
    found: str = ""
    """The hit as it is on the page."""
    after: str = ""
    """The characters after the hit, with spaces for line breaks."""


MAX_TEXTS = 500
"""Maximum number of texts and expressions in one search."""
MAX_LENGTH = 200
"""Maximum length of a text in characters."""
MAX_HIT = 200
"""Number of characters by which two windows of a line overlap. If a line is longer than a window, hits that
are longer than the overlap can be missed."""
MAX_REGEX = 1000
"""Maximum length of an expression in characters."""
WINDOW = 2000
"""Length of a window in characters."""
MATCH_TIMEOUT = 1.0
"""Maximum time in seconds for all expressions on one page. After this time, the rest of the page is not
searched."""
CONTEXT = 80
"""Maximum number of characters that are returned on each side of a hit."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text or a regular expression to search for."""

    text: str
    regex: bool = False
    """True if ``text`` is a regular expression."""


@dataclass(slots=True)
class Places:
    """The positions of one text or expression on a page."""

    hits: int = 0
    """The total number of hits."""
    positions: list[Position] = field(default_factory=list)
    """The first MAX_POSITIONS hits."""


class Finder:
    """Finds the texts and expressions of ``wanted`` in pages. An object can be used for many pages.

    Raises ``ValueError`` for a text or expression that cannot be searched, or if there are more than
    MAX_TEXTS of them.
    """

    def __init__(self, wanted: Sequence[Wanted], *, clock: Callable[[], float] = time.monotonic) -> None:
        if len(wanted) > MAX_TEXTS:
            raise ValueError(f"{len(wanted)} texts are too many; at most {MAX_TEXTS} in one search")
        self.wanted = tuple(dict.fromkeys(wanted))
        self._clock = clock
        self._regexes = {one: _compile(one.text) for one in self.wanted if one.regex}
        self._by_key: dict[str, list[Wanted]] = {}
        for one in self.wanted:
            if not one.regex:
                self._by_key.setdefault(_key(one.text), []).append(one)
        self._any = _combined(list(self._by_key)) if self._by_key else None
        self._begins = {
            key: [other for other in self._by_key if key.startswith(other)] for key in self._by_key
        }

    def find(self, text: str) -> tuple[dict[Wanted, Places], bool]:
        """Return the positions of each text or expression, and True if the whole page was searched.

        ``text`` is the visible text of a page. The second value is False if the time limit was reached.
        """
        found = {one: Places() for one in self.wanted}
        lines = _Lines(text)
        for start, end, one in self._texts(text):
            _add(found[one], lines, start, end)
        until = self._clock() + MATCH_TIMEOUT
        for at, line in enumerate(text.split("\n") if self._regexes else ()):
            for one, expression in self._regexes.items():
                begin = lines.starts[at]
                try:
                    # All expressions of a page share one time limit.
                    for start, end in _in_windows(expression, line, lambda: until - self._clock()):
                        _add(found[one], lines, begin + start, begin + end)
                except TimeoutError:
                    return found, False
        return found, True

    def _texts(self, text: str) -> Iterator[tuple[int, int, Wanted]]:
        if self._any is None:
            return
        for match in self._any.finditer(text):
            start = match.start()
            # The look-ahead captures only the longest text that begins here. Its prefixes begin here too.
            for key in self._begins[_fold(match[1])]:
                for one in self._by_key[key]:
                    yield start, start + len(key), one


def _key(text: str) -> str:
    key = _fold(smooth(text))
    if not key:
        raise ValueError("an empty text matches every page; give the words to search for")
    if len(key) > MAX_LENGTH:
        raise ValueError(f"{text[:40]!r}… has {len(key)} characters; at most {MAX_LENGTH} are allowed")
    return key


def _fold(text: str) -> str:
    """Return ``text`` in lower case.

    The length is kept, so that positions stay valid: a character whose lower-case form has two characters (İ)
    is not changed.
    """
    # upper() comes first, because ς and σ have the same capital letter. re.IGNORECASE also treats them as
    # equal.
    return "".join(low if len(low := char.upper().lower()) == 1 else char for char in text)


def _compile(text: str) -> regex.Pattern[str]:
    if not text:
        raise ValueError("an empty pattern matches every page; write for example \\d+ (dead|injured)")
    if len(text) > MAX_REGEX:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_REGEX} are allowed")
    try:
        expression = regex.compile(text, regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"bad pattern {text!r}: {error}") from error
    if expression.match("") is not None:
        raise ValueError(f"bad pattern {text!r}: it matches an empty text, therefore every page; use + for *")
    return expression


def _combined(keys: list[str]) -> re.Pattern[str]:
    """Return one regular expression that finds, at each position, the longest text that begins there."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]  # a recursive type
    for key in keys:
        node = tree
        for char in key:
            node = node.setdefault(char, {})
        node[""] = {}  # a text ends at this node
    try:
        # A look-ahead consumes no characters, so the search continues at the next character and finds
        # overlapping texts.
        return re.compile(f"(?=({_branch(tree)}))", re.IGNORECASE)
    except RecursionError:
        raise ValueError("too many texts begin with another text; search for fewer texts at a time") from None


def _branch(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    """Return the regular expression for the part of the prefix tree below a node."""
    ends = "" in node
    parts: list[str] = []
    for first, below in node.items():
        if not first:
            continue
        chain, at = first, below
        # A chain of nodes with one child each becomes one literal. So the recursion gets deeper only at
        # branches.
        while len(at) == 1 and "" not in at:
            ((char, at),) = at.items()
            chain += char
        parts.append(re.escape(chain) + (_branch(at) if set(at) != {""} else ""))
    if not parts:
        return ""
    whole = "|".join(parts)
    if ends:  # greedy, so that longer texts are tried first
        return f"(?:{whole})?"
    return f"(?:{whole})" if len(parts) > 1 else whole


def _in_windows(
    expression: regex.Pattern[str], line: str, left: Callable[[], float]
) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each hit in a line. A hit in the overlap of two windows is yielded once.

    ``left`` returns the remaining time in seconds. Raises ``TimeoutError`` when no time is left.
    """
    at = 0
    while at < len(line):
        end = min(at + WINDOW, len(line))
        safe = end if end == len(line) else end - MAX_HIT  # later hits belong to the next window
        last = safe
        seconds = left()
        if seconds <= 0:
            raise TimeoutError
        for match in expression.finditer(line, at, end, timeout=seconds):
            if match.start() >= safe:
                break
            # an empty hit, for example of "a*" or of a look-ahead
            if match.end() > match.start():
                yield match.start(), match.end()
                last = max(last, match.end())
        at = last  # ``safe``, or the end of the last hit if it is later


class _Lines:
    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def number(self, position: int) -> int:
        """Return the line of a position, counted from 1."""
        return bisect_right(self.starts, position)


def _add(places: Places, lines: _Lines, start: int, end: int) -> None:
    places.hits += 1
    if len(places.positions) >= MAX_POSITIONS:
        return
    text = lines.text
    places.positions.append(
        Position(
            start=start,
            end=end,
            line=lines.number(start),
            before=text[max(0, start - CONTEXT) : start].replace("\n", " "),
            found=text[start:end],
            after=text[end : end + CONTEXT].replace("\n", " "),
        )
    )
