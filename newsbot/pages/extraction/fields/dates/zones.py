"""Finds the country and the time zone of a site.

On some pages, times are stated only in UTC. The moment of publication is known then, but not its day in the
local time of the site. If the page also shows a clock time, the zone is the difference between this time and
UTC. If the page shows only a day (in the URL or beside the headline), the zone of the site's country is used,
but only if the moment falls on this day in that zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from newsbot.pages.extraction.fields.dates.moments import Written
from newsbot.pages.extraction.fields.language import normal_code
from newsbot.pages.extraction.page.page import Page
from newsbot.pages.text.languages import by_language

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
