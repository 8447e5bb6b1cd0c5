"""Types of command arguments: functions that convert the text of an argument, and report a wrong text.

``commands.yaml`` names these functions by the keys of :data:`TYPES`. They raise ``ArgumentTypeError`` with a
message for the user.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from newsbot.cli.terminal import did_you_mean
from newsbot.clock import parse_duration, parse_moment
from newsbot.config.table import AGE

MAX_INTENSITY = 10**6


def positive(text: str) -> int:
    """Return a whole number above 0 and below 2**53."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**53:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """Return the number of a port; 0 means any free port."""
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port (0 to 65535; 0: any free port)")
    return int(text)


def share(text: str) -> float:
    """Return a share above 0 and up to 1."""
    if re.fullmatch(r"[0-9]*\.?[0-9]+", text) is None or not 0 < float(text) <= 1:
        raise ArgumentTypeError(f"{text!r} is not a share; write a number above 0 and up to 1, e.g. 0.01")
    return float(text)


def intensity(text: str) -> float:
    """Return a number of events per page."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MAX_INTENSITY:
        raise ArgumentTypeError(f"{text!r} is not a number above 0 and up to {MAX_INTENSITY}")
    return value


def moment(text: str) -> datetime:
    """Return the time that a date or an age names. See :func:`newsbot.clock.parse_moment`."""
    try:
        return parse_moment(text, datetime.now(UTC))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def dated(text: str) -> tuple[str, datetime]:
    """Return a text and the time that it names (:func:`moment`)."""
    return text, moment(text)


def age(text: str) -> float:
    """Return the maximum age of data in seconds."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if seconds < AGE.least:
        raise ArgumentTypeError(f"{text!r} is less than an hour, the minimum")
    return seconds


def words(text: str) -> tuple[str, ...]:
    """Return the words of a list that is separated by commas."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a function that accepts only these words.

    Unlike ``choices`` of argparse, its error suggests the nearest word.
    """

    def check(text: str) -> str:
        if text not in allowed:
            hint = did_you_mean(text, allowed)
            raise ArgumentTypeError(f"{text!r} is not allowed{hint}; allowed: {', '.join(allowed)}")
        return text

    return check


TYPES: Mapping[str, Callable[[str], Any]] = {
    one.__name__: one for one in (positive, port, share, intensity, moment, dated, age, words)
} | {"path": Path}
