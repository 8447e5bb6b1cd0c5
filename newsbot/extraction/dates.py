"""Moments as pages write them: with or without time and zone, for machines or in words.

Nothing is guessed silently: a :class:`Written` moment says how exact it is and whether its zone was
written. Formats: RFC 3339 and ISO 8601 in common forms, RFC 2822, POSIX seconds and milliseconds, and
dates in words or figures in about 30 languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from newsbot.items import Precision
from newsbot.months import month

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""Earlier times are defaults or faults of a page (1900, 1970)."""
AHEAD = timedelta(days=1)
"""How far in the future a time may lie: clocks and zones err, but not by more."""
MAX_TEXT = 400

_HOURS = {
    "z": 0.0, "ut": 0.0, "utc": 0.0, "gmt": 0.0, "wet": 0.0, "bst": 1.0, "west": 1.0, "cet": 1.0,
    "mez": 1.0, "cest": 2.0, "mesz": 2.0, "eet": 2.0, "eest": 3.0, "msk": 3.0, "мск": 3.0, "trt": 3.0,
    "ist": 5.5, "wib": 7.0, "ict": 7.0, "hkt": 8.0, "sgt": 8.0, "awst": 8.0, "jst": 9.0, "kst": 9.0,
    "aest": 10.0, "aedt": 11.0, "nzst": 12.0, "nzdt": 13.0, "est": -5.0, "edt": -4.0, "et": -5.0,
    "cst": -6.0, "cdt": -5.0, "ct": -6.0, "mst": -7.0, "mdt": -6.0, "pst": -8.0, "pdt": -7.0, "pt": -8.0,
    "brt": -3.0, "art": -3.0,
}  # fmt: skip
_SUMMER = frozenset({"et", "ct", "pt"})
_ZONE_NAMES = "|".join(sorted(_HOURS, key=len, reverse=True))
_CLOCK = (
    r"(?P<hour>[01]?\d|2[0-4])"
    r"(?:[:.ч时點点h]\s?(?P<minute>[0-5]\d)(?!\d)(?:[:.](?P<second>[0-5]\d)(?!\d)(?:[.,]\d{1,9})?)?)"
    r"\s{0,2}(?P<half>[AaPp]\.?\s?[Mm]\b\.?)?"
    rf"(?:\s{{0,3}}\(?(?P<zone>{_ZONE_NAMES})\b\)?)?(?:\s{{0,2}}(?P<offset>[+-]\d\d(?::?\d\d)?)(?!\d))?"
)
_HOUR_ONLY = r"(?P<hour12>1[0-2]|[1-9])\s?(?P<half12>[AaPp]\.?[Mm]\b\.?)"
_AT = "at|um|o|à|a|alle|ore|в|о|у|г|р|года?|года|року|klo|kl|as|às|las|saat|pukul|jam|uhr|the|og|of"
_GAP = rf"(?:[\s,;|/·•–—\-]|\b(?:{_AT})\b|[.@]){{0,12}}"
_TAIL = rf"(?:{_GAP}(?:{_CLOCK}|{_HOUR_ONLY}))?"
_DE = r"(?:\s?(?:de|del|of|d')\s)?"
_WORD = r"(?P<name>[^\W\d_]{3,14})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # 2024年5月3日 14:05
        rf"(?<!\d){_YEAR}\s?[年년]\s?(?P<month>\d{{1,2}})\s?[月월]\s?(?P<day>\d{{1,2}})\s?[日일]?{_TAIL}",
        # 2024-05-03 14:05:10 +0300, 2024/5/3
        rf"(?<!\d){_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?!\d)(?:T|{_GAP})?(?:{_CLOCK})?",
        # 3 мая 2024 г., 14:05; 3rd of May 2024; 3 de mayo de 2024
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|º|\.)?[\s\-/]{{0,3}}{_DE}(?:tháng\s)?{_WORD}[\s,\-/]{{0,3}}{_DE}{_YEAR}(?!\d){_TAIL}",
        # May 3, 2024, 2:05 pm
        rf"(?<![^\W\d_]){_WORD}[\s\-]{{1,3}}{_DAY}(?:st|nd|rd|th)?[\s,\-]{{1,3}}{_YEAR}(?!\d){_TAIL}",
        # 03.05.2024 14:05, 03/05/2024
        rf"(?<![\d.]){_DAY}(?P<mark>[./\-])\s?(?P<month>[0-3]?\d)(?P=mark)\s?{_YEAR}(?![\d]){_TAIL}",
        # 3 tháng 5, 2024
        rf"(?<!\d){_DAY}\s(?:tháng)\s(?P<month>[01]?\d)(?:,?\s|\snăm\s){_YEAR}{_TAIL}",
        # 03.05.24
        rf"(?<![\d.]){_DAY}(?P<mark>[./])(?P<month>[01]?\d)(?P=mark)(?P<year>\d\d)(?![\d.]){_TAIL}",
    )
)
_BEFORE = re.compile(rf"{_CLOCK}[\s,;|/·•–—\-]{{1,4}}$", re.IGNORECASE)
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})?)?")
_JS = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d) ?"
    r"([A-Z]{3,4})?([+-]\d{4})?(?: (\d{4}))?"
)
_SECONDS = re.compile(r".{10}[T ]\d\d:\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class Written:
    """A moment as written. ``local`` is naive; ``zone`` is None where none was written."""

    local: datetime
    precision: Precision
    zone: tzinfo | None = None

    def at(self, zone: tzinfo) -> datetime:
        """Return the moment in the zone it was written with, or in ``zone`` if in none or in UTC.

        A bare day is midnight UTC of that day, so that it stays the day that the page names.
        """
        if self.precision == "day":
            return self.local.replace(tzinfo=UTC)
        moment = self.local.replace(tzinfo=self.zone or zone)
        return moment if moment.utcoffset() else _in_zone(moment, zone)


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return the same moment by the clock of ``zone``, with a plain offset."""
    try:
        offset = moment.astimezone(zone).utcoffset()
    except OverflowError:  # the first or the last day that ``datetime`` holds
        offset = None
    return moment.astimezone(timezone(offset)) if offset else moment


def plausible(moment: datetime, now: datetime) -> bool:
    """True unless ``moment`` lies before 1990 or more than a day after ``now``."""
    return EARLIEST <= moment <= now + AHEAD


def parse_stamp(text: str, language: str | None = None) -> Written | None:
    """Read a value that is meant to be a date as a whole (an attribute, a JSON-LD property).

    >>> parse_stamp("2024-05-03T14:05:00+03:00").precision
    'second'
    """
    text = text.strip()[:MAX_TEXT]
    if not text:
        return None
    try:
        written = _iso(text) or _compact(text) or _js(text) or find_date(text, language)
    except (ValueError, OverflowError):  # a month 13, an hour 25
        return None
    return written if written is not None and _in_range(written.local) else None


def _in_range(local: datetime) -> bool:
    """True for years that a zone cannot push out of what ``datetime`` holds."""
    return 1900 <= local.year <= 2200


def find_date(text: str, language: str | None = None) -> Written | None:
    """Return the first date in a piece of visible text, e.g. of «3 мая 2024, 14:05 · Москва»."""
    return next(find_dates(text, language), None)


def find_dates(text: str, language: str | None = None) -> Iterator[Written]:
    """Yield dates of a text in the order of the forms; at most 20."""
    text = text[:MAX_TEXT]
    if not any(sign.isdigit() for sign in text):
        return
    count = 0
    for form in _FORMS:
        for match in form.finditer(text):
            written = _from_match(match, text, language)
            if written is not None and _in_range(written.local):
                yield written
                count += 1
                if count >= 20:
                    return


def _iso(text: str) -> Written | None:
    if text[4:5] != "-" or not text[:4].isdigit():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    precision: Precision = "day" if len(text) <= 10 else "second" if _SECONDS.match(text) else "minute"
    return Written(moment.replace(tzinfo=None), precision, moment.tzinfo)


def _compact(text: str) -> Written | None:
    """``20240503``, ``20240503T140500Z``, POSIX seconds and milliseconds."""
    if text.isdecimal() and len(text) in (10, 13):
        moment = datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), UTC)
        return Written(moment.replace(tzinfo=None), "second", UTC)
    match = _COMPACT.fullmatch(text)
    if match is None:
        return None
    year, mon, day, hour, minute, second, zone = match.groups()
    local = datetime(int(year), int(mon), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    precision: Precision = "day" if hour is None else "minute" if second is None else "second"
    return Written(local, precision, _offset(zone) if zone else None)


def _js(text: str) -> Written | None:
    """``Fri May 03 2024 14:05:00 GMT+0300 (MSK)`` and ``Fri May 03 14:05:00 CEST 2024``."""
    match = _JS.match(text)
    if match is None or not (match[3] or match[9]):
        return None
    number = month(match[1])
    if number is None:
        return None
    clock = (int(match[4]), int(match[5]), int(match[6]))
    local = datetime(int(match[3] or match[9]), number, int(match[2]), *clock)
    return Written(local, "second", _zone(match[7], match[8], local))


def _from_match(match: re.Match[str], text: str, language: str | None) -> Written | None:
    part = match.groupdict()
    try:
        day = _day(part, language)
        if day is None:
            return None
        if part.get("hour") is None and part.get("hour12") is None:
            before = _BEFORE.search(text[max(0, match.start() - 40) : match.start()])
            if before is None:
                return Written(day, "day")
            part = before.groupdict()
        return _with_clock(day, part)
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
    if (
        not name
        and part.get("mark") == "/"
        and (number > 12 or (language == "en-us" and day <= 12))
        and year >= 1970
        and part["day"]
    ):
        day, number = number, day
    return datetime(year, number, day)


def _with_clock(day: datetime, part: dict[str, str | None]) -> Written:
    hour = int(part.get("hour") or part.get("hour12") or 0)
    half = part.get("half") or part.get("half12")
    if half and hour <= 12:
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    local = day + timedelta(
        hours=hour, minutes=int(part.get("minute") or 0), seconds=int(part.get("second") or 0)
    )
    precision: Precision = "second" if part.get("second") else "minute"
    return Written(local, precision, _zone(part.get("zone"), part.get("offset"), local))


def _zone(name: str | None, offset: str | None, local: datetime) -> tzinfo | None:
    if offset:
        return _offset(offset)
    hours = _HOURS.get(name.lower()) if name else None
    if name is None or hours is None:
        return None
    if name.lower() in _SUMMER and 3 < local.month < 11:  # "ET" is EST in winter, EDT in summer
        hours += 1
    return timezone(timedelta(hours=hours))


def _offset(text: str) -> tzinfo:
    """Read ``+03:00``, ``+0300``, ``+03`` or ``Z``. Raises ValueError for more than a day."""
    if text in "zZ":
        return UTC
    digits = text[1:].replace(":", "")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-span if text[0] == "-" else span)
