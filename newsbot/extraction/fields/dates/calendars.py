"""Converts the digits of other scripts, and dates of the Persian calendar.

For the Thai calendar, only the number of years by which it is ahead is needed (:data:`BUDDHIST`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from unicodedata import normalize

# The digit 0 of each script. The other digits follow it.
_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50,
    0x0ED0, 0x1040, 0x17E0, 0xFF10,
)  # fmt: skip
_SIGNS: dict[int, str | None] = (
    {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
    | {
        ord("،"): ",",
        ord("："): ":",
        ord("，"): ",",
    }
    | dict.fromkeys((0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x2066, 0x2067, 0x2069))
)
"""Table for ``str.translate``. It converts digits to ASCII, and removes direction marks and joiners."""
# Names of the months.
_PERSIAN = (
    "فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد", "شهریور", "مهر", "آبان", "آذر", "دی", "بهمن", "اسفند",
)  # fmt: skip
PERSIAN_DATE = re.compile(
    rf"(?<!\d)(?P<day>[0-3]?\d)\s?(?P<name>{'|'.join(_PERSIAN)})(?:\s?ماه)?[\s,]{{0,3}}(?P<year>1[34]\d\d)(?!\d)"
    r"(?:[\s,|\-–—]{0,4}(?:ساعت\s)?(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?!\d))?"
)
_EPOCH = -356_033
"""The offset in :func:`from_solar_hijri` that makes 1 Farvardin 1403 the 20th of March 2024."""
BUDDHIST = 543
"""Number of years by which the Thai calendar is ahead of the Gregorian calendar."""


def western(text: str) -> str:
    """Return ``text`` with ASCII digits and commas and without direction marks.

    >>> western("٣ مايو ٢٠٢٤")[-4:]
    '2024'
    """
    return text if text.isascii() else normalize("NFC", text.translate(_SIGNS))


def persian_dates(text: str) -> Iterator[tuple[date, int | None, int | None]]:
    """Yield the dates of the Persian calendar in a text from :func:`western`.

    The second and third values are the hour and the minute, or None.
    """
    for match in PERSIAN_DATE.finditer(text):
        hour, minute = match["hour"], match["minute"]
        month, number = _PERSIAN.index(match["name"]) + 1, int(match["day"])
        if not 1 <= number <= (31 if month < 7 else 30):
            continue
        day = from_solar_hijri(int(match["year"]), month, number)
        yield day, int(hour) if hour else None, int(minute) if minute else None


def from_solar_hijri(year: int, month: int, day: int) -> date:
    """Return the Gregorian date of a date in the Persian (Solar Hijri) calendar.

    Leap years follow the 33-year rule (8 leap years in 33 years), which is exact from 1244 to 1472.

    >>> from_solar_hijri(1403, 2, 28)
    datetime.date(2024, 5, 17)
    """
    # 1595 is added so that the years are counted from the start of a 33-year cycle. The first six months have
    # 31 days each.
    cycle, rest = divmod(year + 1595, 33)
    days = 365 * (year + 1595) + 8 * cycle + (rest + 3) // 4 + day
    before = (month - 1) * 31 if month < 7 else (month - 7) * 30 + 186
    return date.fromordinal(_EPOCH + days + before)
