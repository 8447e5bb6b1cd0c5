"""The clock, and functions that parse and format times and durations.

Scheduling uses POSIX seconds (``float``). Times that users see are aware ``datetime`` objects in UTC.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

Clock = Callable[[], float]
"""Returns the current time in POSIX seconds. Tests and the simulator pass their own clock."""

system_clock: Clock = time.time
DAY = 86400.0
"""A day in seconds."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", re.ASCII)
_YEAR_OR_MONTH = re.compile(r"\d{4}(-\d{2})?", re.ASCII)
DATES = "2024, 2024-05, 2024-05-31, 2024-05-31T08:00+03:00, 7d (ago), today or yesterday"
"""Examples of what :func:`parse_moment` accepts. Messages show them."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY, "w": 604800.0}


def utc(seconds: float) -> datetime:
    """Return POSIX ``seconds`` as an aware UTC datetime."""
    return datetime.fromtimestamp(seconds, UTC)


def iso(moment: datetime | None) -> str | None:
    """Return ``moment`` as ISO 8601 in UTC with a ``Z`` (RFC 3339); ``None`` stays ``None``."""
    if moment is None:
        return None
    text = moment.astimezone(UTC).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


def from_iso(text: str | None) -> datetime | None:
    """Parse a time written by :func:`iso`."""
    return None if text is None else datetime.fromisoformat(text)


def parse_duration(text: str | float) -> float:
    """Return seconds from ``90``, ``"90"``, ``"5m"``, ``"6h"`` or ``"1d"``.

    Raises ``ValueError`` with a readable message for anything else.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{text!r} is not a duration; write for example 30s, 5m, 6h or 1d")
    match = _DURATION.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write for example 30s, 5m, 6h or 1d")
    return float(match[1]) * _UNITS[match[2]]


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the UTC time for a date or an age that a user has entered.

    It accepts ``today`` and ``yesterday``, ages such as ``7d`` (before ``now``), years, months, days, and
    times in ISO 8601. A year, month or day means its first moment. A time without a time zone is assumed to
    be in UTC. Raises ``ValueError``.
    """
    word = text.strip().lower()
    try:
        if word in ("today", "yesterday"):
            day = now.replace(hour=0, minute=0, second=0, microsecond=0)
            return day - timedelta(days=word == "yesterday")
        if _DURATION.fullmatch(word) and not word[-1].isdecimal():
            return now - timedelta(seconds=parse_duration(word))
        if _YEAR_OR_MONTH.fullmatch(word):
            word = f"{word}-01-01"[:10]  # 2024-01-01 for 2024, 2024-05-01 for 2024-05
        value = datetime.fromisoformat(word.upper())
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date; write for example {DATES}") from error


def stamp(moment: datetime | None) -> str | None:
    """Return ``moment`` in UTC as text: ``2026-11-20 08:00:00.000000``. Such texts sort chronologically.

    A naive ``moment`` is assumed to be in UTC. ``None`` stays ``None``.
    """
    if moment is None:
        return None
    if moment.tzinfo is not None:
        with suppress(OverflowError):  # a time near year 1 or 10000 cannot be converted and is kept as it is
            moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def from_stamp(text: str | None) -> datetime | None:
    """Parse a time written by :func:`stamp`."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)
