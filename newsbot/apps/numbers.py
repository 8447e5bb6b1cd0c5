"""Shares, sizes and times as text, for the apps that print them."""

from __future__ import annotations

from datetime import datetime

from newsbot.clock import iso, utc


def utc_of(seconds: float | None) -> datetime | None:
    """Convert POSIX ``seconds`` like :func:`utc`; ``None`` stays ``None``."""
    return None if seconds is None else utc(seconds)


def iso_of(seconds: float | None) -> str | None:
    """Convert POSIX ``seconds`` to text in the format of :func:`iso`; ``None`` stays ``None``."""
    return iso(utc_of(seconds))


def share(part: int, whole: int) -> float | None:
    """Return ``part / whole``, at most 1; None if ``whole`` is 0."""
    return min(1.0, part / whole) if whole > 0 else None


def percent(value: float | None) -> str:
    """Return a share as text; ``-`` if it is None. 99.7 % is not rounded up to 100 %."""
    if value is None:
        return "-"
    # int() cuts off decimals. Adding 0.5 rounds the value; near 100 %, 0 is added.
    return f"{int(value * 100 + (0.5 if value < 0.99 else 0))} %"


def size(count: float) -> str:
    """Return a number of bytes as text, e.g. ``3.4 MB`` (powers of ten)."""
    power = 0
    while count >= 1000 and power < len(_BYTES) - 1:
        count, power = count / 1000, power + 1
    return f"{count:.1f} {_BYTES[power]}" if power and count < 100 else f"{count:.0f} {_BYTES[power]}"


_BYTES = ("bytes", "kB", "MB", "GB", "TB")
