"""Parses dates as pages write them: with or without time and time zone, for machines or in words.

The result is a :class:`Written`. It states the precision of the text, and it has a time zone only if the text
has one. The formats are common forms of RFC 3339 and ISO 8601, RFC 2822, POSIX seconds and milliseconds, and
dates in words or digits in some 70 languages. Dates of the Persian, Nepali, Thai, Japanese and Taiwanese
calendars are converted.

"3/4/2024" has two readings. If the text itself does not decide between them, the result has both, and
:func:`settled` decides with what else is known about the site.

The country and the time zone of a site are found too. On some pages, times are stated only in UTC. The moment
of publication is known then, but not its day in the local time of the site. If the page also shows a clock
time, the zone is the difference between this time and UTC. If the page shows only a day (in the URL or beside
the headline), the zone of the site's country is used, but only if the moment falls on this day in that zone.

Relative times ("5 minutes ago", "yesterday, 14:05", "вчера в 14:05") are relative to the time of the
download.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from itertools import islice
from unicodedata import normalize
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import nepali_datetime  # type: ignore[import-untyped]
import yaml

from newsbot.items import Precision
from newsbot.pages.extraction.page import Page
from newsbot.pages.text.languages import by_language, compiled, normal_code, phrases
from newsbot.pages.text.names import HOURS, hours_ahead, month

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest plausible time. Earlier times (1900, 1970) are default values or errors of a page."""
AHEAD = timedelta(days=1)
"""Maximum distance of a plausible time into the future. Clocks and time zones of sites are sometimes
wrong."""
_EAST = timedelta(hours=14)
"""The greatest distance of a local time ahead of UTC."""
MAX_YEARLESS = 50
"""Maximum length of a text that is read as a date without a year."""
MAX_TEXT = 400
"""Maximum number of characters of a text that are searched."""
BUDDHIST = 543
"""The Thai calendar is ahead of the Gregorian calendar by this number of years."""
_BUDDHIST_FROM = 2500
"""The first year that is read as a year of the Thai calendar."""
_ERAS = {"令": 2018, "平": 1988, "昭": 1925, "民": 1911, "R": 2018, "H": 1988, "S": 1925}
"""First character of an era -> the number that is added to its years.

民國 is the calendar of Taiwan, and the others are eras of Japan.
"""
_MINGUO = _ERAS["民"]
_MOST_OF_A_FORM = 20
"""Maximum number of matches that are checked for each regular expression of :func:`_forms`."""
has_digit = re.compile(r"[\d年]").search

# --- the forms of a date
# The groups are year, month or name (of the month), day, hour, minute, second, zone and offset. am and pm are
# after the time, and am_before and pm_before are before it. hour12, am12 and pm12 are for an hour without
# minutes. All repetitions are bounded. "met" and "mest" are left out, because in some languages they are
# words that may follow a time.
_ZONES = "|".join(sorted(HOURS.keys() - {"met", "mest"}, key=len, reverse=True))
_CLOCK = (
    r"(?:(?:(?P<am_before>%(am_before)s)|(?P<pm_before>%(pm_before)s))\s?)?"
    r"(?P<hour>[01]?\d|2[0-4])"
    r"(?:(?:[:.ч时時點点시]|\s?h)\s?(?P<minute>[0-5]\d|\d(?=[分분]))(?!\d)"
    r"(?:(?:[:.]|[分분]\s?)(?P<second>[0-5]\d)(?!\d)(?:[.,]\d{1,9})?)?)[分분]?"
    r"(?:\s{0,2}(?:(?P<am>%(am)s)|(?P<pm>%(pm)s)|%(clock)s))?"
    rf"(?:\s{{0,3}}\(?(?P<zone>{_ZONES}|(?-i:[A-Z][A-Za-z]{{1,20}}(?:/[A-Z][A-Za-z_-]{{1,30}}){{1,2}}))\b\)?)?"
    r"(?:\s{0,2}(?P<offset>[+\-−](?:(?:0\d|1[0-4])(?::?[0-5]\d)?|\d:[0-5]\d|(?:(?<=GMT.)|(?<=UTC.)|(?<=GMT\s.)|(?<=UTC\s.))\d(?::[0-5]\d)?))"
    r"(?![\d:]))?"
)
_HOUR_ONLY = r"(?P<hour12>1[0-2]|[1-9])\s?(?:(?P<am12>%(am)s)|(?P<pm12>%(pm)s))"
_GAP = r"(?:[\s,;|/·•–—\-]|%(at)s|[.@]|[(（][^\W\d_]{1,10}\.?[)）]|%(weekdays)s){0,12}"
_TAIL = rf"(?:{_GAP}(?:{_CLOCK}|{_HOUR_ONLY}))?"
_DE = r"(?:\s?%(of)s\s?)?"
_SIGN = r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u0655\u0900-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff])"
"""A letter, or a vowel sign that Python does not count as part of a word."""
_WORD = (
    rf"(?P<name>[\u0e01-\u0e4e]{{1,3}}\.[\u0e01-\u0e2e]|(?:كانون|تشرين)\s\w{{5,6}}|{_SIGN}{{2,18}})['’׳]?\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"
_EAST_YEAR = rf"(?:(?P<era>令和|平成|昭和|民[國国])\s?(?P<era_year>\d{{1,3}}|元)|{_YEAR}|(?P<minguo>1[01]\d))"
_SHORT_YEAR = r"['’]?(?P<year>\d\d)(?![\d:.])(?!\s?%(pm)s|\s?%(am)s)"
_OF_YEAR = r"[.,]?(?:[\s\-]?%(year)s,?)?"
_TEMPLATES = (
    # 2024年5月3日 14:05, 令和6年（2024年）5月3日
    (
        rf"(?<!\d){_EAST_YEAR}\s?[年년]\s?(?:[(（][^()（）]{{2,6}}年[)）]\s?)?(?P<month>\d{{1,2}})\s?[月월]\s?(?P<day>\d{{1,2}})"
        rf"\s?[日일號号]?{_TAIL}"
    ),
    # 2024-05-03 14:05:10 +0300, 2024/5/3, 2024. 5. 3.
    rf"(?<!\d){_YEAR}(?P<sign>[-/.])\s?(?P<month>\d{{1,2}})(?P=sign)\s?(?P<day>\d{{1,2}})(?!\d)\.?(?:T|{_GAP})?(?:{_CLOCK})?",
    # Years of Iran, Nepal and Taiwan: 1405/09/06, 2083-08-11, 115/11/27
    (
        r"(?<![\d./-])(?:民[國国]\s?)?(?P<other_year>1[34]\d\d|1[01]\d)(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)"
        rf"(?P<day>\d{{1,2}})(?![\d./]){_TAIL}"
    ),
    # The same with the day first: 06/09/1405
    rf"(?<![\d./-]){_DAY}(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign)(?P<other_year>1[34]\d\d)(?!\d){_TAIL}",
    # ۶ آذر ۱۴۰۵
    (
        r"(?<!\d)(?P<day>[0-3]?\d)\s?(?P<solar>%(solar_months)s)(?:\s?ماه)?[\s,]{0,3}"
        rf"(?P<other_year>1[34]\d\d)(?!\d){_TAIL}"
    ),
    # ११ मंसिर २०८३, २०८३ मंसिर ११
    rf"(?<!\d)(?P<day>[0-3]?\d)\s(?P<nepali>%(nepali_months)s)[\s,]{{1,3}}(?P<other_year>20[4-9]\d)(?!\d){_TAIL}",
    (
        r"(?<!\d)(?P<other_year>20[4-9]\d)(?:\sसाल)?[\s,]{1,3}(?P<nepali>%(nepali_months)s)"
        rf"[\s,]{{1,3}}(?P<day>[0-3]?\d)(?!\d)(?:\sगते)?{_TAIL}"
    ),
    # 3 мая 2024 г., 14:05; 3rd of May 2024; 3 de mayo de 2024; 3 พฤษภาคม 2567
    (
        rf"(?<!\d){_DAY}(?:%(ordinals)s|\.)?[\s,\-/]{{0,3}}{_DE}(?:tháng\s)?{_WORD}"
        rf"[\s,\-/]{{0,3}}{_DE}(?:ค\.ศ\.\s|พ\.ศ\.\s)?(?P<year>(?:19|20|25)\d\d)(?!\d){_TAIL}"
    ),
    # May 3, 2024, 2:05 pm
    rf"(?<![^\W\d_]){_WORD}[\s\-]{{1,3}}{_DAY}(?:%(ordinals)s)?[\s,\-]{{1,3}}{_YEAR}(?!\d){_TAIL}",
    # 03.05.2024 14:05, 03/05/2024
    (
        rf"(?<![\d.]){_DAY}(?P<mark>[./\-])\s?(?P<month>[0-3]?\d)(?P=mark)\s?"
        rf"(?P<year>(?:19|20|25)\d\d)(?![\d]){_TAIL}"
    ),
    # 3 tháng 5, 2024; 3 thg 5, 2024
    rf"(?<!\d){_DAY}\s(?:tháng|thg)\s(?P<month>[01]?\d)(?:,?\s|\snăm\s){_YEAR}{_TAIL}",
    # 2024. május 3., 2024 m. gegužės 3 d.
    rf"(?<!\d){_YEAR}{_OF_YEAR}\s{_WORD}\s{_DAY}(?!\d)(?:\.|\s?d\.)?,?{_TAIL}",
    # 2024. gada 3. maijs; 2024 ж. 3 мамыр
    rf"(?<!\d){_YEAR}{_OF_YEAR}\s{_DAY}[.\-]?\s?{_WORD}(?!\w){_TAIL}",
    # 2024 оны 5-р сарын 3
    rf"(?<!\d){_YEAR}\s?оны\s(?P<month>[01]?\d)(?:-?р)?\sсарын\s{_DAY}(?!\d){_TAIL}",
    # R8.11.27, an era of Japan by its letter
    (
        r"(?<![\w.])(?-i:(?P<era>[RHS]))\.?(?P<era_year>\d{1,2})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)"
        rf"(?P<day>\d{{1,2}})(?!\d){_TAIL}"
    ),
    # 03.05.24, 5/27/18
    rf"(?<![\d./-])(?<!\b(?-i:[RHS])){_DAY}(?P<mark>[./-])(?P<month>[0-3]?\d)(?P=mark)(?P<year>\d\d)(?![\d./-]){_TAIL}",
    # 27-Nov-18, 27 พ.ย. 69
    rf"(?<!\d){_DAY}[.\s\-]{{1,2}}{_WORD}[\s,\-]{{1,2}}{_SHORT_YEAR}{_TAIL}",
)
_YEARLESS_TEMPLATES = (
    rf"(?<!\d){_DAY}(?:%(ordinals)s|\.)?\s{{0,2}}{_DE}{_WORD}{_TAIL}",
    rf"(?<![^\W\d_]){_WORD}\s{{0,2}}{_DAY}(?:%(ordinals)s)?(?!\d){_TAIL}",
    rf"(?<![\d年년])(?P<month>\d{{1,2}})\s?[月월]\s?(?P<day>\d{{1,2}})\s?[日일號号]{_TAIL}",
    rf"(?<![\d.]){_DAY}\.\s?(?P<month>[01]?\d)\.(?!\d){_TAIL}",
)
_AROUND_YEARLESS = (
    r"(?:\s|[,;|/·•.:()（）–—-]|%(weekdays)s|%(published)s|%(dated)s|%(at)s|%(on)s|[^\W\d_]{1,3}\b|"
    r"%(clock)s|(?:mon|tue|wed|thu|fri|sat|sun)\w*){0,12}"
)
"""What may be around a date without a year, which counts only if the text has nothing else."""
# A time before the date. A day of the week may be between them.
_BEFORE = rf"{_CLOCK}[\s,;|/·•–—\-]{{1,4}}(?:(?:[^\W\d_]{{1,3}}|%(weekdays)s)[.,]?[\s,]{{1,3}}){{0,2}}$"
# A date without separators: 20240503, 20240503T140500Z.
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})?)?")
# A date as JavaScript or the Unix command "date" prints it: Fri May 03 2024 14:05:00 GMT+0300.
_JAVASCRIPT = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d) ?"
    r"([A-Z]{3,4})?([+-]\d{4})?(?: (\d{4}))?"
)
# A time in ISO 8601 that has seconds.
_SECONDS = re.compile(r".{10}[T ]\d\d:\d\d:\d\d")
# The fraction after POSIX seconds.
_SPLIT_SECOND = re.compile(r"(?<=^\d{10})\.\d{1,9}$")
_EPOCH = -356_033
"""The offset for :func:`from_solar_hijri` with which 1 Farvardin 1403 becomes 20 March 2024."""
# The digit 0 of each script. The other digits follow it.
_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50,
    0x0ED0, 0x1040, 0x17E0, 0xFF10,
)  # fmt: skip
_SIGNS: dict[int, str | None] = (
    {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
    | {ord("،"): ",", ord("："): ":", ord("，"): ","}
    | dict.fromkeys((0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x2066, 0x2067, 0x2069))
)
"""Table for ``str.translate``. It converts digits to ASCII, and removes direction marks and joiners."""


@cache
def _forms(templates: tuple[str, ...] = _TEMPLATES) -> tuple[re.Pattern[str], ...]:
    return tuple(map(compiled, templates))


@dataclass(frozen=True, slots=True)
class Written:
    """A moment as it was written.

    ``local`` is the naive date and time on the page. ``zone`` is None if no time zone was written.
    """

    local: datetime
    precision: Precision
    zone: tzinfo | None = None
    swapped: datetime | None = None
    """``local`` with day and month exchanged, if the text can also be read in this way (3/4/2024)."""
    order: bool | None = None
    """The order of day and month: True if the month is first, None if it is unknown.

    In a text with two readings it is the probable order.
    """
    yearless: bool = False
    """True if no year was written. The year of ``local`` has no meaning then."""

    def at(self, zone: tzinfo) -> datetime:
        """Return the aware moment in its written time zone. If no zone or UTC was written, ``zone`` is used.

        A day without a time becomes midnight UTC, so that the day does not change.
        """
        if self.precision == "day":
            return self.local.replace(tzinfo=UTC)
        moment = self.local.replace(tzinfo=self.zone or zone)
        return moment if moment.utcoffset() else _in_zone(moment, zone)


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return the same moment with the offset that ``zone`` has at that moment."""
    try:
        offset = moment.astimezone(zone).utcoffset()
    except OverflowError:  # the first or last day that ``datetime`` can represent
        offset = None
    return moment.astimezone(timezone(offset)) if offset else moment


def plausible(moment: datetime, now: datetime) -> bool:
    """True unless ``moment`` is before 1990 or more than a day after ``now``."""
    return EARLIEST <= moment <= now + AHEAD


def parse_stamp(text: str, language: str | None = None) -> Written | None:
    """Return the time in a value that contains only a date, such as an attribute; None if it is not a date.

    ``language`` is the language tag of the page. It decides which names of months are recognised, and whether
    the day or the month comes first.

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
    """True for years that stay in the range of ``datetime`` after a conversion to any time zone."""
    return 1900 <= local.year <= 2200


def find_date(text: str, language: str | None = None) -> Written | None:
    """Return the first date in a piece of visible text such as «3 мая 2024, 14:05 · Москва», or None.

    Only the first MAX_TEXT characters are searched. ``language`` is the language tag of the page.
    """
    text = text[:MAX_TEXT]
    if not has_digit(text):
        return None
    text = western(text)
    found: list[tuple[int, Written]] = []
    # The first valid match of each regular expression is found. The leftmost of these matches is used. If two
    # matches begin at the same place, the match of the earlier expression is used.
    for form in _forms():
        for match in islice(form.finditer(text), _MOST_OF_A_FORM):
            written = _from_match(match, text, language)
            if written is not None and _in_range(written.local):
                found.append((match.start(), written))
                break
    return min(found, key=lambda pair: pair[0])[1] if found else None


def date_without_year(text: str, language: str | None = None) -> Written | None:
    """Return the date of a short text that is only a date without a year ("27 ноября, 10:04"), or None.

    >>> date_without_year("Fri 27 November, 10:04").local.replace(year=2026)
    datetime.datetime(2026, 11, 27, 10, 4)
    """
    if len(text) > MAX_YEARLESS or not has_digit(text):
        return None
    text = western(text)
    around = compiled(_AROUND_YEARLESS)
    for form in _forms(_YEARLESS_TEMPLATES):
        match = form.search(text)
        if match is None or not around.fullmatch(text[match.end() :]):
            continue
        before = compiled(_BEFORE).search(text[: match.start()])
        if around.fullmatch(text[: before.start() if before is not None else match.start()]):
            written = _from_match(match, text, language)
            if written is not None:
                return replace(written, yearless=True)
    return None


def settled(written: Written, now: datetime, order: bool | None = None) -> Written | None:
    """Return a time with one reading and a year. Return None if day and month cannot be told apart.

    ``order`` is the order in other dates of the site: True if the month is first. If it is unknown, the text
    itself, the country and the language decide (:attr:`Written.order`), and then the time of the download,
    ``now``: a date is not in the future. A date without a year is the last such day before ``now``.
    """
    latest = (now + AHEAD).replace(tzinfo=None)
    if written.yearless:
        # In UTC, the zone of the site is unknown, and its day may be the next day.
        last = (now + (timedelta() if now.utcoffset() else _EAST)).replace(tzinfo=None)
        for year in range(last.year, last.year - 5, -1):
            try:
                local = written.local.replace(year=year)
            except ValueError:  # 29 February
                continue
            if local <= last:
                return replace(written, local=local, yearless=False)
        return None
    if written.swapped is None:
        return written
    month_first = order if order is not None else written.order
    if month_first is None and written.swapped > latest:
        month_first = False
    elif month_first is None and written.local > latest:
        month_first = True
    if month_first is None:
        return None
    return replace(written, local=written.swapped if month_first else written.local, swapped=None)


_NUMERIC = re.compile(r"(?<![\d./-])([0-3]?\d)[/-]([0-3]?\d)[/-](?:(?:19|20)\d\d|\d\d)(?![\d/-])")


def order_in(texts: Iterable[str]) -> bool | None:
    """Return the order of day and month in the dates in ``texts`` that have only one reading.

    The result is True if the month is first, and None if there are no such dates or if both orders occur.

    >>> order_in(["Seen on 5/27/2018", "5/1/2018"])
    True
    """
    orders = set()
    for text in texts:
        for match in islice(_NUMERIC.finditer(text[:MAX_TEXT]), _MOST_OF_A_FORM):
            one, other = int(match[1]), int(match[2])
            if max(one, other) <= 31 and (one > 12) != (other > 12) and min(one, other) > 0:
                orders.add(other > 12)
    return orders.pop() if len(orders) == 1 else None


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


def western(text: str) -> str:
    """Return ``text`` with ASCII digits and commas and without direction marks.

    >>> western("٣ مايو ٢٠٢٤")[-4:]
    '2024'
    """
    return text if text.isascii() else _HAN_NUMBER.sub(_han_number, normalize("NFC", text.translate(_SIGNS)))


_HAN_DIGITS = {sign: digit for digit, signs in enumerate("〇一二三四五六七八九") for sign in signs} | {
    "零": 0,
    "○": 0,
}
_HAN_NUMBER = re.compile(r"[〇零○一二三四五六七八九十百]{1,7}(?=[年月日號号])")
"""A number of a Chinese or Japanese date in words: 二〇二六年十一月二十七日."""


def _han_number(match: re.Match[str]) -> str:
    """Return the number in ASCII digits: place by place (二〇二六), or with tens and hundreds (二十七).

    >>> western("二〇二六年十一月二十七日")
    '2026年11月27日'
    """
    text = match[0]
    if not {"十", "百"} & set(text):
        return "".join(str(_HAN_DIGITS[sign]) for sign in text)
    number, last = 0, 0
    for sign in text:
        if sign in "十百":
            number, last = number + (last or 1) * (100 if sign == "百" else 10), 0
        else:
            last = _HAN_DIGITS[sign]
    return str(number + last)


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
    """Parse ``20240503``, ``20240503T140500Z``, POSIX seconds and POSIX milliseconds."""
    whole = text.removeprefix("/Date(").removesuffix(")/")  # as in JSON of older ASP.NET
    whole = _SPLIT_SECOND.sub("", whole)
    if whole.isdecimal() and len(whole) in (10, 13):
        moment = datetime.fromtimestamp(int(whole) / (1000 if len(whole) == 13 else 1), UTC)
        return Written(moment.replace(tzinfo=None), "second", UTC)
    match = _COMPACT.fullmatch(text)
    if match is None:
        return None
    year, mon, day, hour, minute, second, zone = match.groups()
    local = datetime(int(year), int(mon), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    precision: Precision = "day" if hour is None else "minute" if second is None else "second"
    return Written(local, precision, _offset(zone) if zone else None)


def _js(text: str, language: str | None) -> Written | None:
    """Parse ``Fri May 03 2024 14:05:00 GMT+0300 (MSK)`` and ``Fri May 03 14:05:00 CEST 2024``."""
    match = _JAVASCRIPT.match(text)
    if match is None or not (match[3] or match[9]):
        return None
    number = month(match[1])
    if number is None:
        return None
    clock = (int(match[4]), int(match[5]), int(match[6]))
    # The year is after the day or at the end.
    local = datetime(int(match[3] or match[9]), number, int(match[2]), *clock)
    return Written(local, "second", _zone(match[7], match[8], local, language))


def _from_match(match: re.Match[str], text: str, language: str | None) -> Written | None:
    part = match.groupdict()
    try:
        day, swapped = _days(part, language)
        if day is None:
            return None
        clock = part
        if part.get("hour") is None and part.get("hour12") is None:
            # The time may be before the date: "14:05, Friday, 3 May 2024".
            before = compiled(_BEFORE).search(text[max(0, match.start() - 40) : match.start()])
            clock = before.groupdict() if before is not None else {}
        written = _with_clock(day, clock, language) if clock else Written(day, "day")
        if swapped is None:
            return replace(written, order=_order_of(part))
        return _of_two(written, swapped - day, clock, match, text, language)
    except (ValueError, OverflowError):
        return None


def _days(part: dict[str, str | None], language: str | None) -> tuple[datetime | None, datetime | None]:
    """Return the day of a match, and the other possible day if day and month may be exchanged."""
    main = (language or "")[:2]
    name = part.get("name")
    day = int(part["day"] or 0)
    if part.get("other_year"):
        return _of_other_calendar(part, main, day), None
    number = month(name, language) if name else int(part.get("month") or 0)
    if number is None:
        return None, None
    year = _year(part, main)
    if year is None:
        return None, None
    if not name and main in ("ko", "ja", "zh") and len(part.get("year") or "") == 2 and number <= 12:
        return datetime(2000 + day, number, int(part["year"] or 0)), None  # 26.11.27
    return _readings(year, number, day, "" if name else part.get("mark") or "")


def _readings(year: int, number: int, day: int, mark: str) -> tuple[datetime, datetime | None]:
    """Return the day, and the other day if the numbers between two ``mark`` may be exchanged."""
    if mark and number > 12:  # 5/13/2024 and 5.13.2024 must be the American form
        return datetime(year, day, number), None
    if mark not in ("/", "-"):
        return datetime(year, number, day), None
    if day > 12 or day == number:
        return datetime(year, number, day), None
    return datetime(year, number, day), datetime(year, day, number)


def _order_of(part: dict[str, str | None]) -> bool | None:
    """Return the order of two numbers of which only one can be a month: True if the month is first."""
    if part.get("name") or part.get("mark") not in ("/", "-"):
        return None
    first, second = int(part["day"] or 0), int(part.get("month") or 0)
    return second > 12 if max(first, second) > 12 else None


def _year(part: dict[str, str | None], main: str) -> int | None:
    """Return the Gregorian year of a match, or None if the number is not a year on such a page."""
    if part.get("era"):
        return _ERAS[str(part["era"])[0]] + (1 if part["era_year"] == "元" else int(part["era_year"] or 0))
    if part.get("minguo"):
        return int(part["minguo"] or 0) + _MINGUO if main == "zh" else None
    year = int(part.get("year") or _LEAP_YEAR)
    name = part.get("name") or ""
    thai = main == "th" or "ก" <= name[:1] <= "๛"
    if year < 100:
        # Two-digit years of the Thai calendar begin with 1990.
        if thai and year >= EARLIEST.year + BUDDHIST - _BUDDHIST_FROM:
            return year + _BUDDHIST_FROM - BUDDHIST
        return year + (2000 if year < 70 else 1900)
    if year >= _BUDDHIST_FROM:  # a number from 2500 on is a year only in Thai
        return year - BUDDHIST if thai else None
    return year


def _of_other_calendar(part: dict[str, str | None], main: str, day: int) -> datetime | None:
    """Return the day in a calendar of Iran, Nepal or Taiwan. ``main`` is the language without the country."""
    year, number = int(part["other_year"] or 0), int(part.get("month") or 0)
    if year < 200:
        return datetime(year + _MINGUO, number, day) if main == "zh" else None
    if part.get("nepali"):
        number = phrases("nepali_months").index(str(part["nepali"])) % 12 + 1
        found = nepali_datetime.date(year, number, day).to_datetime_date()
    else:
        if part.get("solar"):
            number = phrases("solar_months").index(str(part["solar"])) % 12 + 1
        # The first six months have 31 days, the next five have 30, and the last has 29 or 30.
        if not (1 <= number <= 12 and 1 <= day <= (31 if number < 7 else 30)):
            return None
        found = from_solar_hijri(year, number, day)
    return datetime(found.year, found.month, found.day)


_LEAP_YEAR = 2000
"""The year of a date that is written without a year. It has a 29 February."""
_MONTH_FIRST = frozenset({"us", "ph", "pr", "fil", "tl"})
"""Countries and languages that write the month before the day: 12/31/2024."""
_NO_ORDER = frozenset({"", "en", "ja", "ko", "zh"})
"""Languages that do not decide the order of day and month without a country."""
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})(?:s|nes|rs|ur)?(?:day)?\b", re.IGNORECASE)


def _of_two(  # noqa: PLR0917
    written: Written,
    ahead: timedelta,
    clock: dict[str, str | None],
    match: re.Match[str],
    text: str,
    language: str | None,
) -> Written:
    """Return ``written`` with its second reading, ``ahead`` later, or the only possible reading."""
    swapped = written.local + ahead
    said = _WEEKDAY.search(text[max(0, match.start() - 20) : match.end() + 20])
    if said is not None:
        number = _WEEKDAYS.index(said[1].lower())
        fits = [moment for moment in (written.local, swapped) if moment.weekday() == number]
        if len(fits) == 1:
            return replace(written, local=fits[0], order=fits[0] == swapped)
    main, _, country = (language or "").partition("-")
    order: bool | None = None
    if {main, country} & _MONTH_FIRST:
        order = True
    elif country != "ca" and (main not in _NO_ORDER or (country and main in ("", "en"))):
        order = False
    elif written.zone is not None and clock.get("zone") and -10 <= _hours(written.zone) <= -4:
        order = True  # the name of a zone in America
    elif main in ("", "en") and any(
        (half := clock.get(name)) and half.isascii() for name in ("am", "pm", "am12", "pm12")
    ):
        order = True  # most pages in English with this form are from the USA
    return replace(written, swapped=swapped, order=order)


def _hours(zone: tzinfo) -> float:
    return (zone.utcoffset(None) or timedelta()) / timedelta(hours=1)


def _with_clock(day: datetime, part: dict[str, str | None], language: str | None) -> Written:
    hour = int(part.get("hour") or part.get("hour12") or 0)
    afternoon = any(part.get(name) for name in ("pm", "pm12", "pm_before"))
    if hour <= 12 and (afternoon or any(part.get(name) for name in ("am", "am12", "am_before"))):
        hour = hour % 12 + (12 if afternoon else 0)
    # The time is added to the day, so that hour 24 becomes midnight of the next day.
    local = day + timedelta(
        hours=hour, minutes=int(part.get("minute") or 0), seconds=int(part.get("second") or 0)
    )
    precision: Precision = "second" if part.get("second") else "minute"
    return Written(local, precision, _zone(part.get("zone"), part.get("offset"), local, language))


def _zone(name: str | None, offset: str | None, local: datetime, language: str | None) -> tzinfo | None:
    if offset:
        return _offset(offset)
    if name and "/" in name:  # a name of the tz database
        zone = named_zone(name)
        ahead = zone.utcoffset(local) if zone is not None else None
        return timezone(ahead) if ahead is not None else None
    hours = hours_ahead(" ".join(name.split()), local.month, language) if name else None
    return timezone(timedelta(hours=hours)) if hours is not None else None


def _offset(text: str) -> tzinfo:
    """Parse ``+03:00``, ``+0300``, ``+03``, ``+3`` or ``Z``.

    Raises ``ValueError`` for an offset of a day or more.
    """
    if text in "zZ":
        return UTC
    digits = text[1:].replace(":", "")
    # The hours have one digit if the number of digits is odd (+3), otherwise two (+03, +0300).
    hours = len(digits) % 2 or 2
    span = timedelta(hours=int(digits[:hours]), minutes=int(digits[hours:] or 0))
    return timezone(span if text[0] == "+" else -span)


# Offsets of zones are between _WEST and _EAST and, except a few rare offsets, multiples of _STEP.
_STEP = timedelta(minutes=30)
_WEST = timedelta(hours=-11)


@cache
def _countries() -> dict[str, str]:
    """Return country code -> time zones (IANA names, separated by spaces)."""
    text = (files("newsbot.pages.extraction.fields") / "countries.yaml").read_text("utf-8")
    zones: dict[str, str] = yaml.safe_load(text)
    return zones


def region_of(page: Page) -> str | None:
    """Return the language and country of a page (``en-us``), or None.

    The country of the host (.co.uk) is preferred to the country that the page states, because many sites
    leave the ``en-US`` of their publishing system. Both decide the order of day and month in 3/4/2024.
    """
    tag = (page.meta("og:locale") or page.html_lang or "").replace("_", "-").lower()[:5]
    return region(tag, page.host) or None


def region(tag: str, host: str) -> str:
    """Return a language tag with the country of ``host``, if its top-level domain is that of a country."""
    ending = host.rpartition(".")[2]
    if ending not in _countries():
        return tag
    return f"{tag.partition('-')[0]}-{'gb' if ending == 'uk' else ending}"


def country_zone(language: str | None) -> tzinfo | None:
    """Return the zone of the country in a language tag (``ja-jp``) if the country has one zone, else None."""
    country = (language or "").partition("-")[2]
    names = _countries().get({"gb": "uk"}.get(country, country), "").split()
    return named_zone(names[0]) if len(names) == 1 else None


def named_zone(name: str | None) -> tzinfo | None:
    """Return the zone with an IANA name, or None if there is no name or it is not installed here."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def shown_zone(moment: datetime, shown: Iterable[Written]) -> tzinfo | None:
    """Return the zone in which ``moment`` is equal to one of the clock times ``shown`` on the page, or None.

    >>> shown = [Written(datetime(2024, 5, 3, 22, 25), "minute")]
    >>> shown_zone(datetime(2024, 5, 4, 1, 25, tzinfo=UTC), shown)
    datetime.timezone(datetime.timedelta(days=-1, seconds=75600))
    """
    exact = moment.astimezone(UTC).replace(tzinfo=None, second=0, microsecond=0)
    for written in shown:
        if written.precision == "day" or written.zone is not None:
            continue
        ahead = written.local.replace(second=0, microsecond=0) - exact
        # Any other difference is not the offset of a zone. Then the shown time is not the publication time.
        if _WEST <= ahead <= _EAST and not ahead % _STEP:
            return timezone(ahead)
    return None


def zone_on_day(moment: datetime, day: date, host: str, language: str | None) -> tzinfo | None:
    """Return the zone of the site's country in which ``moment`` falls on ``day``, or None.

    The country comes from the top-level domain of ``host``, or else from ``language``, the language tag of
    the page (``es-ar``, ``de``). The returned zone has a fixed offset: the offset of the country at
    ``moment``.
    """
    for name in _zone_names(host, language):
        try:
            offset = moment.astimezone(ZoneInfo(name)).utcoffset()
        except (ZoneInfoNotFoundError, OSError, OverflowError):  # the zone is not installed on this machine
            continue
        if offset is not None and moment.astimezone(timezone(offset)).date() == day:
            return timezone(offset)
    return None


def _zone_names(host: str, language: str | None) -> Iterator[str]:
    """Yield the zones of the countries that the host and the language suggest."""
    main, _, country = (language or "").lower().replace("_", "-").partition("-")
    ending = host.rpartition(".")[2]
    known = (
        ending,
        {"gb": "uk"}.get(country, country),
        by_language("country").get(normal_code(main) or "", ("",))[0],
    )
    for code in known:
        yield from _countries().get(code, "").split()


MAX_RELATIVE = 120
"""Maximum length of a text that is parsed. In a longer text, "yesterday" is the day of an event."""

_RELATIVE_CLOCK = (
    r"(?P<hour>[01]?\d|2[0-3])[:.h](?P<minute>[0-5]\d)(?!\d)\s{0,2}(?:(?P<am>%(am)s)|(?P<pm>%(pm)s))?"
)
# "Today at 14:05", "yesterday, 2:05 pm": a day, up to eight separators or words such as "at", and an optional
# time.
_RELATIVE_DAY = (
    r"(?<!\w)(?:(?P<today>%(today)s)|(?P<yesterday>%(yesterday)s))(?!\w)"
    rf"(?:[\s,;.|·•–—-]|%(at)s(?=[\s.])){{0,8}}(?:{_RELATIVE_CLOCK})?"
)
_NUMBER = r"(?P<number>\d{1,3}|%(one)s)"
_UNIT = r"(?:(?P<minutes>%(minutes)s)|(?P<hours>%(hours)s)|(?P<days>%(days)s))\.?"
# "5 minutes ago". In "vor 5 Minuten" and "hace 5 minutos", the word for "ago" comes first.
_SPANS = (
    rf"(?<!\w){_NUMBER}\s?{_UNIT}\s?%(ago)s(?!\w)",
    rf"(?<!\w)%(ago_before)s\s{_NUMBER}\s?{_UNIT}(?!\w)",
)
_LONGEST = timedelta(days=31)
"""Maximum age in a text such as "5 days ago". Texts with a greater age are ignored."""


def is_ago(text: str) -> bool:
    """True for a text with a relative time such as "4 hours ago"."""
    return any(compiled(template).search(text) for template in _SPANS)


def relative_moment(text: str, now: datetime, zone: tzinfo) -> Written | None:
    """Return the moment that a short text states relative to ``now``, or None if it states none.

    ``now`` (aware) is the time of the download, and ``zone`` is the time zone of the site.

    >>> from datetime import UTC
    >>> relative_moment("Yesterday, 14:05", datetime(2024, 5, 3, 9, tzinfo=UTC), UTC).local
    datetime.datetime(2024, 5, 2, 14, 5)
    """
    if len(text) > MAX_RELATIVE:
        return None
    local = now.astimezone(zone).replace(tzinfo=None)
    match = compiled(_RELATIVE_DAY).search(text)
    if match is not None and (match["hour"] or _is_date(text, match)):
        return _of_day(match, local, zone)
    for template in _SPANS:
        match = compiled(template).search(text)
        if match is not None:
            return _of_span(match, local, zone)
    return None


def _is_date(text: str, match: re.Match[str]) -> bool:
    """True for a day without a time if it begins the text, or follows a separator, a byline or a word such as
    "published".

    Elsewhere, the word may be a part of a sentence or a name: "Sie sind hier", "USA TODAY Network".
    """
    before, after = text[: match.start()], text[match.end() :]
    is_first = not any(map(str.isalpha, before)) or before.rstrip().endswith(_SEPARATORS)
    is_dated = is_first or compiled(r"^\W*%(by)s\W|%(published)s\W*\w{0,3}\W*$").search(before)
    return bool(is_dated) and sum(map(str.isalpha, after)) <= _AFTER


_SEPARATORS = ("|", "•", "·", ",", "–", "—", "/")


_AFTER = 25
"""Maximum number of letters after the day. There may be the name of an author."""


def _of_day(match: re.Match[str], local: datetime, zone: tzinfo) -> Written | None:
    day = _midnight(local)
    if match["yesterday"]:
        day -= timedelta(days=1)
    if match["hour"] is None:
        return Written(day, "day")
    hour = int(match["hour"])
    if hour <= 12 and (match["am"] or match["pm"]):
        # 12 am is 0, and 12 pm is 12
        hour = hour % 12 + (12 if match["pm"] else 0)
    moment = day + timedelta(hours=hour, minutes=int(match["minute"]))
    # "Today, 20:00" in the future is the time of an event.
    return Written(moment, "minute", zone) if moment <= local + timedelta(hours=1) else None


def _of_span(match: re.Match[str], local: datetime, zone: tzinfo) -> Written | None:
    number = int(match["number"]) if match["number"].isdecimal() else 1
    if match["minutes"]:
        return Written((local - timedelta(minutes=number)).replace(second=0, microsecond=0), "minute", zone)
    if match["hours"]:
        # Sites round such ages, so only the day is used.
        return Written(_midnight(local - timedelta(hours=number)), "day")
    span = timedelta(days=number)
    return Written(_midnight(local - span), "day") if span <= _LONGEST else None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
