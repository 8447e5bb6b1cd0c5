"""Parses relative times: "5 minutes ago", "yesterday, 14:05", "вчера в 14:05".

The times are relative to the time of the download.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from newsbot.extraction.fields.dates.moments import Written

MAX_TEXT = 120
"""Maximum length of a text that is parsed. In a longer text, "yesterday" is the day of an event."""

_TODAY = (
    "today|heute|сегодня|сьогодні|сёння|dzisiaj|dziś|dnes|aujourd['’]hui|hoy|oggi|hoje|vandaag|i dag|idag|"
    "tänään|bugün|днес|hari ini|hôm nay|今日|今天|오늘"
)
_YESTERDAY = (
    "yesterday|gestern|вчера|вчора|учора|wczoraj|včera|hier|ayer|ieri|ontem|gisteren|i går|igår|eilen|dün|"
    "kemarin|hôm qua|昨日|昨天|어제"
)
_CLOCK = r"(?P<hour>[01]?\d|2[0-3])[:.h](?P<minute>[0-5]\d)(?!\d)\s{0,2}(?P<half>[ap]\.?m\b)?"
_DAY = re.compile(
    rf"(?<!\w)(?:(?P<today>{_TODAY})|(?P<yesterday>{_YESTERDAY}))(?!\w)"
    r"(?:[\s,;|·•–—-]|(?:at|um|в|о|у|à|a las|"
    rf"alle|às|om|kl\.?|klo|saat|godz\.?|v)(?=\s)){{0,8}}(?:{_CLOCK})?",
    re.IGNORECASE,
)
_MINUTE = (
    "minutes?|mins?|минут[уы]?|мин|хвилин[ау]?|хв|minuten?|minut[yę]?|minutos?|minuti|minuto|dakika|menit|phút|"
    "分钟|分|분"
)
_HOUR = (
    "hours?|hrs?|час(?:а|ов)?|годин[ауи]?|stunden?|std|godzin[yę]?|hodin[ay]?|heures?|horas?|ore|ora|uur|timer?|"
    "timmar|saat|jam|giờ|小时|時間|시간"
)
_DAYS = (
    "days?|дн(?:я|ей|і|ів)|день|tage?n?|dni|dny|jours?|días?|dias?|giorni|giorno|dagen|dager|gün|hari|"
    "ngày|天|日|일"
)
_NUMBER = r"(?P<number>\d{1,3}|an?|eine[rn]?|une?|una?|um|одну|един)"
_AGO_WORD = r"(?:ago|назад|тому|temu|fa|geleden|sitten|siden|sedan|önce|lalu|trước|преди|前|전|atrás)"
_BEFORE_WORD = r"(?:vor|il y a|hace|há|před|преди)"
_UNIT = rf"(?:(?P<minutes>{_MINUTE})|(?P<hours>{_HOUR})|(?P<days>{_DAYS}))\.?"
_SPANS = (
    re.compile(rf"(?<!\w){_NUMBER}\s?{_UNIT}\s?{_AGO_WORD}(?!\w)", re.IGNORECASE),
    re.compile(rf"(?<!\w){_BEFORE_WORD}\s{_NUMBER}\s?{_UNIT}(?!\w)", re.IGNORECASE),
)
_LONGEST = timedelta(days=31)
"""The longest time ago, written in days, that is accepted."""


def relative_moment(text: str, now: datetime, zone: tzinfo) -> Written | None:
    """Return the moment that a short text states relative to ``now``, or None if there is no such time.

    ``now`` (aware) is the time of the download, and ``zone`` is the time zone of the site.

    >>> from datetime import UTC
    >>> relative_moment("Yesterday, 14:05", datetime(2024, 5, 3, 9, tzinfo=UTC), UTC).local
    datetime.datetime(2024, 5, 2, 14, 5)
    """
    if len(text) > MAX_TEXT:
        return None
    local = now.astimezone(zone).replace(tzinfo=None)
    match = _DAY.search(text)
    if match is not None:
        return _of_day(match, local, zone)
    for pattern in _SPANS:
        match = pattern.search(text)
        if match is not None:
            return _of_span(match, local, zone)
    return None


def _of_day(match: re.Match[str], local: datetime, zone: tzinfo) -> Written | None:
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if match["yesterday"]:
        day -= timedelta(days=1)
    if match["hour"] is None:
        return Written(day, "day")
    hour = int(match["hour"])
    if match["half"] and hour <= 12:
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    moment = day + timedelta(hours=hour, minutes=int(match["minute"]))
    # "Today, 20:00" in the future is the time of an event.
    return Written(moment, "minute", zone) if moment <= local + timedelta(hours=1) else None


def _of_span(match: re.Match[str], local: datetime, zone: tzinfo) -> Written | None:
    number = int(match["number"]) if match["number"].isdecimal() else 1
    if match["minutes"]:
        return Written((local - timedelta(minutes=number)).replace(second=0, microsecond=0), "minute", zone)
    if match["hours"]:
        # Sites round the hours, so only the day is used.
        return Written(_midnight(local - timedelta(hours=number)), "day")
    span = timedelta(days=number)
    return Written(_midnight(local - span), "day") if span <= _LONGEST else None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
