"""Parses publication times in the forms that feeds and sitemaps use.

Python's parsers can read most forms: RFC 3339, and RFC 822/2822 (with two-digit years, and names of time
zones). Other forms are parsed like the dates of pages (:mod:`newsbot.pages.extraction.fields.moments`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_tz
from functools import partial

from newsbot.pages.text.names import hours_ahead

_MAX_LENGTH = 100

_COMMENT = re.compile(r"\s{0,3}\([^()]{0,40}\)$")
"""Matches a time zone in parentheses at the end, as in mail: ``… +0300 (MSK)``."""
_MAIL = re.compile(
    r"(?:[A-Z][a-z]{2,8},?\s?)?(?:\d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4}|[A-Z][a-z]{2}\s{1,2}\d{1,2})"
    r"\s\d{1,2}:\d\d(?::\d\d)?(?:\s(?P<zone>[A-Z]{1,5})|\s?(?P<offset>[+-]\d{4}))?(?:\s\d{4})?"
)
"""Matches dates of RFC 2822, and of asctime: Tue Dec 31 23:59:59 MSK 2024."""
_PARTIAL = re.compile(r"\d{4}(?:-\d\d)?")
_TWO_READINGS = re.compile(r"(?<![\d/-])\d{1,2}[/-]\d{1,2}[/-]\d{2,4}(?!\d)")
_OFFSET = re.compile(r":\d\d[+-]\d\d:?\d\d$")


@dataclass(frozen=True, slots=True)
class SiteDates:
    """How a site writes its dates."""

    zone: tzinfo = UTC
    """The time zone of times without one."""
    month_first: bool | None = None
    """The order of day and month in its articles: True if the month is first, None if it is unknown."""


def parse_date(
    text: str,
    *,
    now: datetime,
    zone: tzinfo = UTC,
    language: str = "",
    host: str = "",
    month_first: bool | None = None,
) -> datetime | None:
    """Return the time in ``text``, in UTC; None if it contains no time or an impossible time.

    ``zone`` is used if the text has no time zone. A time is impossible if it is before 1990 or more than a
    day after ``now``. 11/12/2024 is in November or in December: ``month_first`` is the order in the other
    dates of the source, if it is known. Otherwise the weekday, the zone, ``language`` (BCP 47) and the
    country of ``host`` decide as on pages. If they do not decide, the result is None.
    """
    text = text.strip()
    if not text or len(text) > _MAX_LENGTH:
        return None
    text = _COMMENT.sub("", text)
    # imported here, because the package of extraction loads numpy, which is needed only for crawls
    from newsbot.pages.extraction.fields.moments import plausible  # noqa: PLC0415

    readings = (
        partial(_of_machine, text, zone),
        # also for a year of another calendar in the form of RFC 2822
        partial(_of_page, text, now, zone, (language.lower(), host), month_first),
    )
    for reading in readings:
        try:
            moment = reading()
            moment = moment.astimezone(UTC) if moment is not None else None
        except (ValueError, OverflowError):
            return None
        if moment is not None and plausible(moment, now):
            return moment
    return None


def _of_machine(text: str, zone: tzinfo) -> datetime | None:
    """Return the aware time if ``text`` has a form that Python can parse, else None.

    Raises ``ValueError`` or ``OverflowError`` for POSIX seconds out of range.
    """
    # POSIX seconds or milliseconds, except eight digits, which are a date (20241231)
    if text.isdecimal() and len(text) in (9, 10, 13):
        return datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), UTC)
    if _PARTIAL.fullmatch(text):
        text = f"{text}-01-01"[:10]
    try:
        moment = datetime.fromisoformat(text) if text[4:5] == "-" else _of_mail(text)
    except ValueError:  # for example the hour 24, which parse_stamp() accepts
        return None
    return moment.replace(tzinfo=zone) if moment is not None and moment.tzinfo is None else moment


def _of_mail(text: str) -> datetime | None:
    match = _MAIL.fullmatch(text)
    part = parsedate_tz(text) if match is not None else None
    if match is None or part is None:
        return None
    local = datetime(*part[:5], min(part[5], 59))  # 60 is a leap second
    hours = hours_ahead(match["zone"], part[1]) if match["zone"] else None
    if hours is None and not match["offset"]:
        return local
    offset = timedelta(seconds=part[9] or 0) if hours is None else timedelta(hours=hours)
    return local.replace(tzinfo=timezone(offset))


def has_two_readings(text: str) -> bool:
    """True if ``text`` may be a date whose day and month can be exchanged."""
    return _TWO_READINGS.search(text[:_MAX_LENGTH]) is not None


def _of_page(
    text: str, now: datetime, zone: tzinfo, place: tuple[str, str], month_first: bool | None
) -> datetime | None:
    """Return the aware time if ``text`` has a form that pages use, else None.

    ``place`` is the language and the host of the source.
    """
    from newsbot.pages.extraction.fields.moments import (  # noqa: PLC0415
        parse_stamp,
        region,
        settled,
    )

    written = parse_stamp(text, region(place[0][:5].replace("_", "-"), place[1]))
    if written is None or (written.zone is None and _OFFSET.search(text)):
        return None
    written = settled(written, now, month_first)
    return written.local.replace(tzinfo=written.zone or zone) if written is not None else None
