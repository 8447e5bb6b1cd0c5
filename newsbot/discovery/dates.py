"""Parses publication times as feeds and sitemaps write them.

Supported: RFC 822/2822 (with two-digit years, old and missing zones, month names of several languages), RFC
3339, W3C-DTF (also partial), asctime, ``31.12.2024 23:59``, ``2024年12月31日 23:59``, ``12/31/2024 11:59 PM``
and POSIX seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from newsbot.text.names import hours_ahead, month

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest accepted date. There was no web before; earlier dates are default values or errors."""
AHEAD = timedelta(days=1)
"""How far a time may be in the future. This is accepted because clocks and zones are sometimes wrong."""

_MAX_LENGTH = 100

_MONTH_FIRST = frozenset({"en-us", "en-ph", "es-us", "es-pr", "fil"})
"""Languages that write the month before the day: 12/31/2024."""
_COMMENT = re.compile(r"\s{0,3}\([^()]{0,40}\)$")
"""A zone in parentheses at the end, as in mail: ``… +0300 (MSK)``."""
_CLOCK = r"""(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?
    \s{0,3}(?P<half>[AaPp]\.?[Mm]\b\.?)?"""
_ZONE = r"""\s{0,3}(?P<zone>[^\W\d_]{1,5}(?![^\W\d_]))?
    \s{0,3}(?P<offset>[+-]\d{1,2}(?::?\d\d)?)?"""
_WEEKDAY = r"[^\W\d_]{2,12}[.,]{0,2}"
_NAME = r"(?P<name>[^\W\d_]{3,12})\.?"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form, re.VERBOSE)
    for form in (
        # 2024-12-31T23:59:59.123+03:00, 2024-12-31 23:59, 2024/12/31, 2024-12
        rf"{_YEAR}(?:[-/]{_MONTH}(?:[-/]{_DAY}(?:[T\s,]{{1,3}}{_CLOCK}{_ZONE})?)?)?",
        # Tue, 31 Dec 2024 23:59:59 +0300; 31-Dec-24 23:59; 31 декабря 2024 г. в 23:59; 31 de enero de 2024
        rf"""(?:{_WEEKDAY}\s{{0,3}})?{_DAY}\.?[\s-]{{1,3}}(?:de\s)?{_NAME}[\s,-]{{1,3}}(?:de\s)?
            (?P<year>\d{{4}}|\d\d)(?!\d)(?:[\sг.,T-]{{1,6}}(?:в\s)?{_CLOCK}{_ZONE})?""",
        # December 31, 2024 11:59 PM; Tue, Dec 31 2024
        rf"""(?:{_WEEKDAY}\s{{1,3}})?{_NAME}\s{{1,3}}{_DAY}(?:st|nd|rd|th)?[,\s]{{1,3}}
            {_YEAR}(?:[,\s-]{{1,4}}(?:at\s)?{_CLOCK}{_ZONE})?""",
        # Tue Dec 31 23:59:59 [MSK] 2024 (asctime, date(1))
        rf"{_WEEKDAY}\s{{1,3}}{_NAME}\s{{1,3}}{_DAY}\s{{1,3}}{_CLOCK}{_ZONE}\s{{1,3}}{_YEAR}",
        # 31.12.2024 23:59
        rf"{_DAY}\.{_MONTH}\.{_YEAR}(?:[,\s]{{1,3}}{_CLOCK}{_ZONE})?",
        # 23:59 31.12.2024
        rf"{_CLOCK}[,\s]{{1,3}}{_DAY}\.{_MONTH}\.{_YEAR}",
        # 2024年12月31日 23:59, 2024년 12월 31일
        rf"{_YEAR}\s?[年년]\s?{_MONTH}\s?[月월]\s?{_DAY}\s?[日일](?:[,\s]{{0,3}}{_CLOCK}{_ZONE})?",
        # 12/31/2024 11:59 PM, 31/12/2024 23:59
        rf"(?P<one>\d{{1,2}})/(?P<other>\d{{1,2}})/{_YEAR}(?:[,\s]{{1,3}}{_CLOCK}{_ZONE})?",
        # 20241231, 20241231T235959Z
        rf"""(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)
            (?:T?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?{_ZONE})?""",
    )
)


def parse_date(text: str, *, now: datetime, zone: tzinfo = UTC, language: str = "") -> datetime | None:
    """Return the time that ``text`` states, in UTC; None if it states none or an impossible one.

    ``zone`` is used if the text has no zone. ``language`` (BCP 47) decides whether 11/12/2024 is in November
    or in December. If it is empty, the date is in November if the time has AM or PM; otherwise the result is
    None. A time is impossible if it is before :data:`EARLIEST` or more than :data:`AHEAD` after ``now``.
    """
    text = text.strip()
    if not text or len(text) > _MAX_LENGTH:
        return None
    # RFC 5322 allows comments: Fri, 3 May 2024 14:05:00 +0300 (MSK).
    text = _COMMENT.sub("", text)
    try:
        moment = _moment(text, zone, language.lower())
    except (ValueError, OverflowError):
        return None
    if moment is None or not EARLIEST <= moment <= now + AHEAD:
        return None
    return moment


def _moment(text: str, zone: tzinfo, language: str) -> datetime | None:
    """Return the time in UTC, or None. Raises ValueError or OverflowError for an impossible time."""
    try:  # the fast path: nine in ten times are in the form of RFC 3339, which Python parses in C
        moment = datetime.fromisoformat(text) if text[4:5] == "-" else None
    except ValueError:
        moment = None
    if moment is not None:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    # POSIX seconds or milliseconds; eight digits are a date (20241231)
    if text.isdecimal() and len(text) in (9, 10, 13):
        return datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), UTC)
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            part = match.groupdict()
            return _from_groups(part | _with_slashes(part, language) if part.get("one") else part, zone)
    return None


def _with_slashes(part: dict[str, str | None], language: str) -> dict[str, str | None]:
    """Return month and day of a date such as 11/12/2024. Raises ValueError if their order is unknown."""
    one, other = part["one"] or "", part["other"] or ""
    if int(one) > 12 or int(other) > 12 or one == other:
        month_first = int(one) <= 12
    elif language in _MONTH_FIRST:
        month_first = True
    elif language in ("", "en"):  # most pages with this form are from the USA, but not all
        if not part["half"]:
            raise ValueError("day or month?")
        month_first = True
    else:
        month_first = False
    return {"month": one, "day": other} if month_first else {"month": other, "day": one}


def _from_groups(part: dict[str, str | None], zone: tzinfo) -> datetime:
    """Return the time of a match in UTC. Raises ValueError for an unknown month or an impossible day."""
    hour = int(part.get("hour") or 0)
    if half := part.get("half"):
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    extra = timedelta(days=1) if hour == 24 else timedelta()  # 24:00 is the next day's midnight
    local = datetime(
        _year(part["year"] or ""),
        _month(part),
        int(part.get("day") or 1),
        hour % 24 if extra else hour,
        int(part.get("minute") or 0),
        min(int(part.get("second") or 0), 59),  # a leap second
        tzinfo=_zone(part.get("zone"), part.get("offset"), _month(part)) or zone,
    )
    return (local + extra).astimezone(UTC)


def _year(text: str) -> int:
    year = int(text)
    if len(text) == 2:  # RFC 2822, 4.3
        year += 2000 if year < 50 else 1900
    return year


def _month(part: dict[str, str | None]) -> int:
    name = part.get("name")
    if name is None:
        return int(part.get("month") or 1)
    name = name.lower()
    number = month(name) or month(name[:3])  # also "Sept" and other abbreviations
    if number is None:
        raise ValueError(f"unknown month {name!r}")
    return number


def _zone(name: str | None, offset: str | None, in_month: int) -> tzinfo | None:
    """Return the zone written as name, offset or both (``GMT+3``); None for unknown names."""
    if offset is None:
        hours = hours_ahead(name, in_month) if name else None
        return None if hours is None else timezone(timedelta(hours=hours))
    # +3, +03, +0300 or +03:00
    digits = offset[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if offset[0] == "-" else span)
