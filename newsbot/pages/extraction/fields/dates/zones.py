"""Finds the country and the time zone of a site.

On some pages, times are stated only in UTC. The moment of publication is known then, but not its day in the
local time of the site. If the page also shows a clock time, the zone is the difference between this time and
UTC. If the page shows only a day (in the URL or beside the headline), the zone of the site's country is used,
but only if the moment falls on this day in that zone.

Relative times ("5 minutes ago", "yesterday, 14:05", "вчера в 14:05") are relative to the time of the
download.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from newsbot.pages.extraction.fields.dates.moments import Written
from newsbot.pages.extraction.fields.language import normal_code
from newsbot.pages.extraction.page.page import Page
from newsbot.pages.text.languages import by_language, compiled

# Offsets of zones are between _WEST and _EAST and, except a few rare offsets, multiples of _STEP.
_STEP = timedelta(minutes=30)
_WEST, _EAST = timedelta(hours=-11), timedelta(hours=14)


@cache
def _countries() -> dict[str, str]:
    """Return country code -> time zones (IANA names, separated by spaces)."""
    text = (files("newsbot.pages.extraction.fields.dates") / "countries.yaml").read_text("utf-8")
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


MAX_TEXT = 120
"""Maximum length of a text that is parsed. In a longer text, "yesterday" is the day of an event."""

_CLOCK = r"(?P<hour>[01]?\d|2[0-3])[:.h](?P<minute>[0-5]\d)(?!\d)\s{0,2}(?:(?P<am>%(am)s)|(?P<pm>%(pm)s))?"
# "Today at 14:05", "yesterday, 2:05 pm": a day, up to eight separators or words such as "at", and an optional
# time.
_DAY = (
    r"(?<!\w)(?:(?P<today>%(today)s)|(?P<yesterday>%(yesterday)s))(?!\w)"
    rf"(?:[\s,;.|·•–—-]|%(at)s(?=[\s.])){{0,8}}(?:{_CLOCK})?"
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
    if len(text) > MAX_TEXT:
        return None
    local = now.astimezone(zone).replace(tzinfo=None)
    match = compiled(_DAY).search(text)
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
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
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
