"""Finds the time zone of a site whose pages give times only in UTC.

In this case the moment of publication is known, but not the day on which it was for the site's readers. If
the page also shows a clock time, the difference to UTC is the zone. If the page shows only a day (in the URL,
beside the headline), the zone of the site's country is used, provided that the moment is on this day there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from newsbot.extraction.fields.dates.moments import Written
from newsbot.extraction.fields.language import normal_code
from newsbot.text.languages import by_language

# Offsets of zones are multiples of _STEP (a few rare ones excepted) between _WEST and _EAST.
_STEP = timedelta(minutes=30)
_WEST, _EAST = timedelta(hours=-12), timedelta(hours=14)

_COUNTRIES = {
    "ae": "Asia/Dubai", "ar": "America/Argentina/Buenos_Aires", "at": "Europe/Vienna",
    "au": "Australia/Sydney Australia/Perth", "be": "Europe/Brussels", "bg": "Europe/Sofia",
    "bo": "America/La_Paz", "br": "America/Sao_Paulo America/Manaus", "by": "Europe/Minsk",
    "ca": "America/Toronto America/Halifax America/Vancouver", "ch": "Europe/Zurich",
    "cl": "America/Santiago", "cn": "Asia/Shanghai", "cr": "America/Costa_Rica", "cu": "America/Havana",
    "cz": "Europe/Prague", "de": "Europe/Berlin", "dk": "Europe/Copenhagen",
    "do": "America/Santo_Domingo", "ec": "America/Guayaquil", "ee": "Europe/Tallinn",
    "eg": "Africa/Cairo", "es": "Europe/Madrid", "fi": "Europe/Helsinki", "fr": "Europe/Paris",
    "gr": "Europe/Athens", "gt": "America/Guatemala", "hk": "Asia/Hong_Kong", "hr": "Europe/Zagreb",
    "hu": "Europe/Budapest", "id": "Asia/Jakarta", "ie": "Europe/Dublin", "il": "Asia/Jerusalem",
    "in": "Asia/Kolkata", "it": "Europe/Rome", "jp": "Asia/Tokyo", "ke": "Africa/Nairobi",
    "kr": "Asia/Seoul", "kz": "Asia/Almaty", "lt": "Europe/Vilnius", "lu": "Europe/Luxembourg",
    "lv": "Europe/Riga", "ma": "Africa/Casablanca", "md": "Europe/Chisinau",
    "mx": "America/Mexico_City", "my": "Asia/Kuala_Lumpur", "ng": "Africa/Lagos",
    "nl": "Europe/Amsterdam", "no": "Europe/Oslo", "nz": "Pacific/Auckland", "pe": "America/Lima",
    "ph": "Asia/Manila", "pk": "Asia/Karachi", "pl": "Europe/Warsaw", "pt": "Europe/Lisbon",
    "py": "America/Asuncion", "ro": "Europe/Bucharest", "rs": "Europe/Belgrade", "ru": "Europe/Moscow",
    "se": "Europe/Stockholm", "sg": "Asia/Singapore", "si": "Europe/Ljubljana",
    "sk": "Europe/Bratislava", "th": "Asia/Bangkok", "tr": "Europe/Istanbul", "tw": "Asia/Taipei",
    "ua": "Europe/Kyiv", "uk": "Europe/London",
    "us": "America/New_York America/Chicago America/Denver America/Los_Angeles",
    "uy": "America/Montevideo", "ve": "America/Caracas", "vn": "Asia/Ho_Chi_Minh",
    "za": "Africa/Johannesburg",
}  # fmt: skip
"""Time zones (IANA names) by country code. The zones with most readers come first."""


def shown_zone(moment: datetime, shown: Iterable[Written]) -> tzinfo | None:
    """Return the zone in which one of the clock times ``shown`` on the page is ``moment``, or None.

    >>> shown_zone(datetime(2024, 5, 4, 1, 25, tzinfo=UTC), [Written(datetime(2024, 5, 3, 22, 25), "minute")])
    datetime.timezone(datetime.timedelta(days=-1, seconds=75600))
    """
    exact = moment.astimezone(UTC).replace(tzinfo=None, second=0, microsecond=0)
    for written in shown:
        if written.precision == "day" or written.zone is not None:
            continue
        ahead = written.local.replace(second=0, microsecond=0) - exact
        # Any other difference is not the offset of a zone, so the page shows the time of something else.
        if _WEST <= ahead <= _EAST and not ahead % _STEP:
            return timezone(ahead)
    return None


def country_zone(moment: datetime, day: date, host: str, language: str | None) -> tzinfo | None:
    """Return the zone of the site's country in which ``moment`` falls on ``day``, or None.

    The country comes from the top-level domain of ``host``, else from ``language``, the language tag that the
    page declares (``es-ar``, ``de``). The returned zone has a fixed offset, which is the
    country's at ``moment``.
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
        yield from _COUNTRIES.get(code, "").split()
