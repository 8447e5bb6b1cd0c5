"""Parses relative times: "5 minutes ago", "yesterday, 14:05", "вчера в 14:05".

The times are relative to the time of the download.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from newsbot.pages.extraction.fields.dates.moments import Written
from newsbot.pages.text.languages import compiled

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
