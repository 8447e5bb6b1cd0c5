"""Parses dates and times as pages write them: with or without time and zone, for machines or in words.

The result is a :class:`Written`. It says how precise the text was, and has a zone only if a zone was written.
The formats are common forms of RFC 3339 and ISO 8601, RFC 2822, POSIX seconds and milliseconds, and dates in
words or digits in some 60 languages. Years of the Persian and Thai calendars are converted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import islice

from newsbot.extraction.fields.dates.calendars import BUDDHIST, persian_dates, western
from newsbot.extraction.fields.dates.forms import (
    AFTERNOON,
    BEFORE,
    COMPACT,
    FORMS,
    JAVASCRIPT,
    SECONDS,
    SPLIT_SECOND,
)
from newsbot.items import Precision
from newsbot.text.names import hours_ahead, month

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest plausible time. Earlier times (1900, 1970) are default values or errors of a page."""
AHEAD = timedelta(days=1)
"""How far in the future a plausible time may be. Clocks and zones of sites are sometimes wrong."""
MAX_TEXT = 400
"""Maximum number of characters of a text that are searched."""
_BUDDHIST_FROM = 2500
"""The first year that is read as a year of the Thai calendar."""
_MOST_OF_A_FORM = 20
"""Maximum number of matches of one regular expression (:data:`~.forms.FORMS`) that are checked."""
has_digit = re.compile(r"\d").search


@dataclass(frozen=True, slots=True)
class Written:
    """A moment as it was written.

    ``local`` is the date and time on the page (naive), and ``zone`` is None if no zone was written.
    """

    local: datetime
    precision: Precision
    zone: tzinfo | None = None

    def at(self, zone: tzinfo) -> datetime:
        """Return the moment (aware) in its written zone, or in ``zone`` if no zone or only UTC was written.

        A day without a time becomes midnight UTC, so that the day stays the one on the page.
        """
        if self.precision == "day":
            return self.local.replace(tzinfo=UTC)
        moment = self.local.replace(tzinfo=self.zone or zone)
        return moment if moment.utcoffset() else _in_zone(moment, zone)


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return the same moment with the offset that ``zone`` has at that moment."""
    try:
        offset = moment.astimezone(zone).utcoffset()
    except OverflowError:  # the first or the last day that ``datetime`` holds
        offset = None
    return moment.astimezone(timezone(offset)) if offset else moment


def plausible(moment: datetime, now: datetime) -> bool:
    """True unless ``moment`` is before 1990 or more than a day after ``now``."""
    return EARLIEST <= moment <= now + AHEAD


def parse_stamp(text: str, language: str | None = None) -> Written | None:
    """Return the time in a value that is nothing but a date, such as an attribute, or None.

    ``language`` is the language tag of the page. It decides the names of months, and the order of day and
    month.

    >>> parse_stamp("2024-05-03T14:05:00+03:00").precision
    'second'
    """
    text = western(text[:MAX_TEXT].strip())
    if not text:
        return None
    try:
        written = _iso(text) or _compact(text) or _js(text, language) or find_date(text, language)
    except (ValueError, OverflowError):  # month 13, hour 25
        return None
    return written if written is not None and _in_range(written.local) else None


def _in_range(local: datetime) -> bool:
    """True for years that stay in the range of ``datetime`` after a conversion to any zone."""
    return 1900 <= local.year <= 2200


def find_date(text: str, language: str | None = None) -> Written | None:
    """Return the first date in a piece of visible text such as «3 мая 2024, 14:05 · Москва», or None.

    Only the first MAX_TEXT characters are searched. ``language`` is the language tag of
    the page.
    """
    text = text[:MAX_TEXT]
    if not has_digit(text):
        return None
    text = western(text)
    found: list[tuple[int, Written]] = []
    # Each regular expression gives its first valid match. The leftmost of these matches wins. If two begin at
    # the same place, the match of the earlier expression wins.
    for form in FORMS:
        for match in islice(form.finditer(text), _MOST_OF_A_FORM):
            written = _from_match(match, text, language)
            if written is not None and _in_range(written.local):
                found.append((match.start(), written))
                break
    if not found:
        return None if text.isascii() else next(_persian(text), None)
    return min(found, key=lambda pair: pair[0])[1]


def _persian(text: str) -> Iterator[Written]:
    for day, hour, minute in persian_dates(text):
        local = datetime(day.year, day.month, day.day, hour or 0, minute or 0)
        yield Written(local, "day" if hour is None else "minute")


def _iso(text: str) -> Written | None:
    if text[4:5] != "-" or not text[:4].isdigit():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    precision: Precision = "day" if len(text) <= 10 else "second" if SECONDS.match(text) else "minute"
    return Written(moment.replace(tzinfo=None), precision, moment.tzinfo)


def _compact(text: str) -> Written | None:
    """Parse ``20240503``, ``20240503T140500Z``, POSIX seconds and POSIX milliseconds."""
    whole = text.removeprefix("/Date(").removesuffix(")/")  # the JSON of older ASP.NET
    whole = SPLIT_SECOND.sub("", whole)
    if whole.isdecimal() and len(whole) in (10, 13):
        moment = datetime.fromtimestamp(int(whole) / (1000 if len(whole) == 13 else 1), UTC)
        return Written(moment.replace(tzinfo=None), "second", UTC)
    match = COMPACT.fullmatch(text)
    if match is None:
        return None
    year, mon, day, hour, minute, second, zone = match.groups()
    local = datetime(int(year), int(mon), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    precision: Precision = "day" if hour is None else "minute" if second is None else "second"
    return Written(local, precision, _offset(zone) if zone else None)


def _js(text: str, language: str | None) -> Written | None:
    """Parse ``Fri May 03 2024 14:05:00 GMT+0300 (MSK)`` and ``Fri May 03 14:05:00 CEST 2024``."""
    match = JAVASCRIPT.match(text)
    if match is None or not (match[3] or match[9]):
        return None
    number = month(match[1])
    if number is None:
        return None
    clock = (int(match[4]), int(match[5]), int(match[6]))
    local = datetime(int(match[3] or match[9]), number, int(match[2]), *clock)
    return Written(local, "second", _zone(match[7], match[8], local, language))


def _from_match(match: re.Match[str], text: str, language: str | None) -> Written | None:
    part = match.groupdict()
    try:
        day = _day(part, language)
        if day is None:
            return None
        if part.get("hour") is None and part.get("hour12") is None:
            # The time may be before the date: "14:05, Friday, 3 May 2024".
            before = BEFORE.search(text[max(0, match.start() - 40) : match.start()])
            if before is None:
                return Written(day, "day")
            part = before.groupdict()
        return _with_clock(day, part, language)
    except (ValueError, OverflowError):
        return None


def _day(part: dict[str, str | None], language: str | None) -> datetime | None:
    name = part.get("name")
    year, day = int(part["year"] or 0), int(part["day"] or 0)
    number = month(name, language) if name else int(part["month"] or 0)
    if number is None:
        return None
    if year < 100:
        year += 2000 if year < 70 else 1900
    elif year >= _BUDDHIST_FROM:
        # Such a number is a year only beside the Thai name of a month.
        if not name or not "ก" <= name[0] <= "๛":
            return None
        year -= BUDDHIST
    # 3/4/2024 is the 3rd of April except on pages for the United States. 5/13/2024 can only be American.
    if (
        not name
        and part.get("mark") == "/"
        and (number > 12 or (language == "en-us" and day <= 12))
        and year >= 1970
        and part["day"]
    ):
        day, number = number, day
    return datetime(year, number, day)


def _with_clock(day: datetime, part: dict[str, str | None], language: str | None) -> Written:
    hour = int(part.get("hour") or part.get("hour12") or 0)
    half = part.get("half") or part.get("half12") or part.get("half_before")
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.lower().startswith(AFTERNOON) else 0)
    # The sum allows the hour 24, which is midnight of the next day.
    local = day + timedelta(
        hours=hour, minutes=int(part.get("minute") or 0), seconds=int(part.get("second") or 0)
    )
    precision: Precision = "second" if part.get("second") else "minute"
    return Written(local, precision, _zone(part.get("zone"), part.get("offset"), local, language))


def _zone(name: str | None, offset: str | None, local: datetime, language: str | None) -> tzinfo | None:
    if offset:
        return _offset(offset)
    hours = hours_ahead(name, local.month, language) if name else None
    return timezone(timedelta(hours=hours)) if hours is not None else None


def _offset(text: str) -> tzinfo:
    """Parse ``+03:00``, ``+0300``, ``+03``, ``+3`` or ``Z``.

    Raises ``ValueError`` for an offset of a day or more.
    """
    if text in "zZ":
        return UTC
    digits = text[1:].replace(":", "")
    hours = len(digits) % 2 or 2
    span = timedelta(hours=int(digits[:hours]), minutes=int(digits[hours:] or 0))
    return timezone(span if text[0] == "+" else -span)
