"""Finds when an article was published and last changed, with source, precision and time zone.

The candidates (possible times, each with a confidence) come from :mod:`candidates`. The functions here choose
one of them. They also find the time zone for times that are written without one. If the pages of a site state
times only in UTC, the functions find the time zone of the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from newsbot.extraction.fields.dates.candidates import (
    Moment,
    aware,
    changed,
    from_hint,
    from_rule,
    from_url,
    near_headline,
    region_of,
    relative,
    remaining,
    structured,
    time_tags,
    visible,
)
from newsbot.extraction.fields.dates.moments import Written, find_date, parse_stamp, plausible
from newsbot.extraction.fields.evidence import FEED, SITEMAP, Candidate
from newsbot.extraction.fields.language import normal_code
from newsbot.extraction.page.jsonld import scalar
from newsbot.extraction.page.page import Page
from newsbot.items import Link, Precision, Where
from newsbot.text.languages import by_language

_FINER_FROM = 0.45
"""Minimum confidence of a candidate whose clock time is added to a day without a clock time."""
_ENOUGH = 0.75
"""If the metadata have a time with this confidence, the visible text is not searched."""


@dataclass(frozen=True, slots=True)
class DateContext:
    """What is known besides the page.

    ``hint`` is the link that led to the page. ``timezone`` is the time zone in the site's rule. ``now`` is
    the current time (aware).
    """

    hint: Link | None
    timezone: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class When:
    """A time of an article.

    ``at`` is the time (aware). ``note`` describes its source and is stored in ``Article.extraction``.
    """

    at: datetime
    source: str
    precision: Precision
    note: str


@dataclass(frozen=True, slots=True)
class Zones:
    """The time zones that may apply to times written without a time zone.

    ``page`` is the zone of other times on the page. ``rule`` is the zone in the site's rule.
    """

    page: tzinfo | None
    rule: tzinfo | None

    @property
    def default(self) -> tzinfo:
        """The zone for times without a zone: the zone of the page, or of the rule, or UTC."""
        return self.page or self.rule or UTC

    def apply(self, moment: Moment) -> When:
        """Return the moment in the site's zone.

        If the moment was written without a zone, the note says where the zone comes from.
        """
        written = moment.value
        said = "+page-zone" if self.page else "+rule-zone" if self.rule else "+assumed-utc"
        note = moment.method + (said if written.zone is None and written.precision != "day" else "")
        return When(written.at(self.default), moment.method, written.precision, note)


def rule_zone(name: str | None) -> tzinfo | None:
    """Return the zone of a rule's ``timezone``, or None if it is not set or not installed on this machine."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def published(page: Page, stated: list[str], context: DateContext) -> When | None:
    """Return the time of publication, or None if the page has none.

    ``stated`` has the values that the rule's selectors found.
    """
    # The cheapest and most trusted sources are read first. Other sources are read only if these are not
    # enough.
    region = region_of(page)
    first = [*from_rule(stated, region), *structured(page, region), *from_hint(context.hint)]
    zones = _zones(page, first, context.timezone)
    found = _usable(first, zones, context.now)
    if not any(c.value.precision != "day" and c.confidence >= _ENOUGH for c in found):
        second = [*time_tags(page, region), *from_url(page.url), *visible(page, region)]
        found += _usable(second, zones, context.now)
    if not found:
        found = _usable(remaining(page), zones, context.now)
    if not found:
        found = _usable(relative(page, context.now, zones.default), zones, context.now)
    chosen = _choose(found)
    return _by_site_clock(page, zones, zones.apply(chosen)) if chosen else None


def _by_site_clock(page: Page, zones: Zones, when: When) -> When:
    """Convert a moment that is known only in UTC to the time zone of the site.

    A clock time on the page shows the zone. Otherwise the days on the page and the country are compared. If
    no zone is found, the moment is returned unchanged.
    """
    # If utcoffset() is not zero, the moment is already known in local time.
    if when.precision == "day" or when.at.utcoffset() or zones.page or zones.rule:
        return when
    region = region_of(page)
    shown = [
        *(written for tag in page.times[:5] if (written := find_date(tag.text, region)) is not None),
        *(written for written, _ in near_headline(page, region)),
    ]
    zone, said = _shown_zone(when.at, shown), "+shown-zone"
    if zone is None:
        # The last entries of ``shown`` are the dates near the headline.
        days = {written.local.date() for written in shown[-3:]} | {
            candidate.value.local.date() for candidate in from_url(page.url)
        }
        zone, said = _zone_of_day(page, when.at, days, region), "+country-zone"
    if zone is None or not zone.utcoffset(None):  # the zone is unknown, or the site shows UTC
        return when
    note = when.note.removesuffix("+assumed-utc") + said
    return When(when.at.astimezone(zone), when.source, when.precision, note)


def _zone_of_day(page: Page, moment: datetime, days: set[date], region: str | None) -> tzinfo | None:
    """Return the zone of the site's country if the page shows the day before or the day after the UTC day."""
    if moment.date() in days:  # the page shows the day in UTC, so there is no sign of another zone
        return None
    for ahead in (-1, 1):
        day = moment.date() + timedelta(days=ahead)
        if day in days:
            return _country_zone(moment, day, page.host, region)
    return None


def modified(page: Page, stated: list[str], context: DateContext, since: datetime | None) -> When | None:
    """Return the time of the last change, or None.

    Times before ``since``, the time of publication, are ignored. ``stated`` has the values that the rule's
    selectors found.
    """
    region = region_of(page)
    candidates = [*from_rule(stated, region), *changed(page, region)]
    hint = context.hint
    if hint is not None and hint.modified_at is not None:
        method = SITEMAP if hint.where is Where.NEWS_SITEMAP else FEED
        candidates.append(aware(hint.modified_at, method, 0.5))
    zones = _zones(page, candidates, context.timezone)
    usable = [
        c
        for c in _usable(candidates, zones, context.now)
        if since is None or c.value.at(zones.default) >= since
    ]
    chosen = max(usable, key=lambda c: c.confidence, default=None)
    return zones.apply(chosen) if chosen else None


def probable_day(page: Page, hint: Link | None, now: datetime) -> datetime | None:
    """Return a quick estimate of the publication time, or None.

    The estimate is used to choose the layout of a rule.
    """
    if hint is not None and hint.published_at is not None and plausible(hint.published_at, now):
        return hint.published_at
    region = region_of(page)
    for candidate in (*structured(page, region), *from_url(page.url)):
        at = candidate.value.at(UTC)
        if plausible(at, now):
            return at
    return None


def _zones(page: Page, candidates: list[Moment], timezone: str | None) -> Zones:
    """Return the zones for times without a zone.

    The zone of the page is the first zone other than UTC among its times.
    """
    offsets = [c.value.zone for c in candidates if c.value.zone is not None]
    if page.article is not None:
        other = parse_stamp(scalar(page.article.get("dateModified")))
        offsets += [other.zone] if other is not None and other.zone is not None else []
    # Many systems write all times in UTC, so UTC does not show the zone of the site.
    local = [zone for zone in offsets if zone.utcoffset(None)]
    return Zones(local[0] if local else None, rule_zone(timezone))


def _usable(candidates: list[Moment], zones: Zones, now: datetime) -> list[Moment]:
    """Return the candidates with a plausible time. Midnight is changed to a day without a time."""
    return [_honest(c) for c in candidates if plausible(c.value.at(zones.default), now)]


def _honest(candidate: Moment) -> Moment:
    """Return the candidate, or only its day if its time is midnight.

    Publishing systems write 00:00:00 if an article has only a date.
    """
    written = candidate.value
    if written.precision == "day" or written.local.time() != datetime.min.time():
        return candidate
    return Candidate(Written(written.local, "day", written.zone), candidate.method, candidate.confidence)


def _choose(found: list[Moment]) -> Moment | None:
    """Return the candidate with the highest confidence.

    If it is only a day, the best candidate with a time on that day is returned instead.
    """
    chosen = max(found, key=lambda c: c.confidence, default=None)
    if chosen is None or chosen.value.precision != "day":
        return chosen
    day = chosen.value.local.date()
    timed = [c for c in found if c.value.precision != "day" and c.confidence >= _FINER_FROM]
    finer = [c for c in timed if c.value.local.date() == day]
    finer = finer or [turned for c in timed if (turned := _turned(c, day)) is not None]
    return max(finer, key=lambda c: c.confidence, default=chosen)


def _turned(candidate: Moment, day: date) -> Moment | None:
    """Return the candidate with day and month exchanged if it then is on ``day``, else None.

    Example: "05/03/2024, 2:05 PM" beside the day 2024-05-03 in the metadata.
    """
    written = candidate.value
    if (written.local.month, written.local.day, written.local.year) != (day.day, day.month, day.year):
        return None
    # Both are replaced in one call, because day 31 may not exist in the old month.
    local = written.local.replace(month=day.month, day=day.day)
    return Candidate(Written(local, written.precision, written.zone), candidate.method, candidate.confidence)


# --- the time zone of a site whose pages state times only in UTC
# On these pages the moment of publication is known, but not its day in the local time of the site. If the
# page also shows a clock time, the zone is the difference between this time and UTC. If the page shows only a
# day (in the URL or beside the headline), the zone of the site's country is used, but only if the moment
# falls on this day in that zone.

# Offsets of zones are between _WEST and _EAST and, except a few rare offsets, multiples of _STEP.
_STEP = timedelta(minutes=30)
_WEST, _EAST = timedelta(hours=-12), timedelta(hours=14)


@cache
def _countries() -> dict[str, str]:
    """Return country code -> time zones (IANA names, separated by spaces)."""
    text = (files("newsbot.extraction.fields.dates") / "countries.yaml").read_text("utf-8")
    zones: dict[str, str] = yaml.safe_load(text)
    return zones


def _shown_zone(moment: datetime, shown: Iterable[Written]) -> tzinfo | None:
    """Return the zone in which ``moment`` is equal to one of the clock times ``shown`` on the page, or None.

    >>> shown = [Written(datetime(2024, 5, 3, 22, 25), "minute")]
    >>> _shown_zone(datetime(2024, 5, 4, 1, 25, tzinfo=UTC), shown)
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


def _country_zone(moment: datetime, day: date, host: str, language: str | None) -> tzinfo | None:
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
