"""Defines the kinds of values that settings have: how a value is parsed, and which values are allowed."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from newsbot.clock import parse_duration

Read = Callable[[Any], Any]
"""A function that parses a value. The value is given as text or as a Python object.

It raises ``ValueError`` or ``TypeError`` for an invalid value.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value."""

    must: str
    """Text that says what a value must be. It is the end of the message "NAME=VALUE: must be …"."""
    read: Read
    least: float = -math.inf
    """Smallest allowed number."""
    greatest: float = math.inf
    """Largest allowed number."""


_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True)
_WORDS |= dict.fromkeys(("0", "false", "no", "off"), False)


def as_switch(given: Any) -> bool:
    """Return the boolean for a word such as ``1`` or ``no``. Raises ``ValueError`` for other words."""
    try:
        return _WORDS[str(given).strip().lower()]
    except KeyError:
        raise ValueError(given) from None


def _switch(given: Any) -> bool:
    # Environment variables allow more words (as_switch), and are converted before this check. All other
    # values are read by Scrapy's getbool, which accepts only the following words.
    if str(given) not in {"0", "1", "true", "false", "True", "False"}:
        raise ValueError(given)
    return as_switch(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(given)
    return given


def _path(given: Any) -> str:
    path = os.fspath(given)
    if not isinstance(path, str) or "\0" in path:
        raise ValueError(given)
    return path


def _words(given: Any) -> list[str]:
    return [_text(word) for word in (given.split(",") if isinstance(given, str) else list(given))]


def _url(given: Any) -> str:
    url = _text(given).strip()
    parts = urlsplit(url)
    if url and not (parts.scheme in {"http", "https"} and parts.hostname):
        raise ValueError(given)
    return url


def _level(given: Any) -> int:
    level = logging.getLevelNamesMapping()[given] if isinstance(given, str) else given
    if not isinstance(level, int):
        raise TypeError(given)
    return level


def _range(least: float, greatest: float) -> str:
    return f"{least:g} or more" if math.isinf(greatest) else f"{least:g} to {greatest:g}"


def _between(convert: Callable[[Any], float], least: float, greatest: float) -> Read:
    def read(given: Any) -> float:
        value = convert(given)
        if not least <= value <= greatest:
            raise ValueError(given)
        return value

    return read


def number(least: float, greatest: float = math.inf) -> Kind:
    """Return the kind of numbers from ``least`` to ``greatest``."""
    read = _between(float, least, greatest)
    return Kind(f"a number, {_range(least, greatest)}", read, least, greatest)


def whole(least: int, greatest: int) -> Kind:
    """Return the kind of whole numbers from ``least`` to ``greatest``."""
    read = _between(int, least, greatest)
    return Kind(f"a whole number, {least} to {greatest}", read, least, greatest)


def duration(least: float) -> Kind:
    """Return the kind of durations of at least ``least`` seconds, such as ``90d``. An empty value is None."""

    def read(given: Any) -> float | None:
        if given == "":
            return None
        seconds = parse_duration(given)
        if seconds < least:
            raise ValueError(given)
        return seconds

    return Kind("a duration of at least one hour, such as 36h, 90d or 4w", read, least)


def one_of(*words: str) -> Kind:
    """Return the kind whose only values are these words."""

    def read(given: Any) -> str:
        if given not in words:
            raise ValueError(given)
        return str(given)

    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", read)


SWITCH = Kind("1 (on) or 0 (off)", _switch)
TEXT = Kind("text", _text)
PATH = Kind("a path", _path)
WORDS = Kind("a list, or words separated by commas", _words)
URL = Kind("a URL that begins with http:// or https://", _url)
LEVEL = Kind("DEBUG, INFO, WARNING, ERROR or CRITICAL", _level)
ANY = Kind("anything", lambda given: given)
"""A kind with any value. The code that uses the setting parses and checks the value."""
