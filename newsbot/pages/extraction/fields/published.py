"""Finds when an article was published and last changed, with source, precision and time zone.

The candidates (possible times, each with a confidence) come from
:mod:`newsbot.pages.extraction.fields.date_candidates`. The functions here choose one of them. They also find
the time zone for times that are written without one. If the pages of a site state times only in UTC, the
functions find the time zone of the site.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain, islice

from newsbot.items import Link, Precision, Where
from newsbot.pages.extraction.fields import (
    FEED,
    JSON_LD,
    META,
    MICRODATA,
    OPEN_GRAPH,
    SITEMAP,
    TIME_TAG,
    URL,
    VISIBLE,
    Candidate,
)
from newsbot.pages.extraction.fields.date_candidates import (
    Moment,
    aware,
    changed,
    from_hint,
    from_rule,
    from_url,
    near_headline,
    relative,
    remaining,
    stated_changes,
    structured,
    time_tags,
    visible,
)
from newsbot.pages.extraction.fields.moments import (
    Written,
    country_zone,
    find_date,
    named_zone,
    order_in,
    parse_stamp,
    plausible,
    region_of,
    settled,
    shown_zone,
    zone_on_day,
)
from newsbot.pages.extraction.page import Page

_FINER_FROM = 0.45
"""Minimum confidence of a candidate whose clock time is added to a day without a clock time."""
_ENOUGH = 0.75
"""If the metadata have a time with this confidence, the visible text is not searched."""


@dataclass(frozen=True, slots=True)
class DateContext:
    """What is known besides the page.

    ``hint`` is the link that led to the page. ``timezone`` is the time zone in the site's rule. ``now`` is
    the current time (aware). ``month_first`` is the order of day and month in the site's other articles, or
    None.
    """

    hint: Link | None
    timezone: str | None
    now: datetime
    month_first: bool | None = None


@dataclass(frozen=True, slots=True)
class When:
    """A time of an article.

    ``at`` is the time (aware). ``note`` describes its source and is stored in ``Article.extraction``.
    """

    at: datetime
    source: str
    precision: Precision
    note: str
    month_first: bool | None = None
    """The order of day and month in the text of the date; None if it does not show the order."""


@dataclass(frozen=True, slots=True)
class Zones:
    """The time zones that may apply to times written without a time zone.

    ``page`` is the zone of other times on the page. ``rule`` is the zone in the site's rule. ``country`` is
    the zone of the site's country if the country has one zone.
    """

    page: tzinfo | None
    rule: tzinfo | None
    country: tzinfo | None

    @property
    def default(self) -> tzinfo:
        """The zone in which all times are given: the zone of the page, or of the rule, or UTC."""
        return self.page or self.rule or UTC

    @property
    def unwritten(self) -> tzinfo:
        """The zone for times without a zone: the default zone, or the zone of the country."""
        return self.page or self.rule or self.country or UTC

    def at(self, written: Written) -> datetime:
        """Return the aware moment in the site's zone."""
        return written.at(self.unwritten if written.zone is None else self.default)

    def apply(self, moment: Moment) -> When:
        """Return the moment in the site's zone.

        If the moment was written without a zone, the note says where the zone comes from.
        """
        written, note = moment.value, moment.method
        if written.zone is None and written.precision != "day":
            note += "+page-zone" if self.page else "+rule-zone" if self.rule else "+assumed-utc"
        return When(written.at(self.default), moment.method, written.precision, note)

    def of_country(self, moment: Moment) -> When:
        """Return a moment that was written without a zone in the zone of the site's country."""
        written = moment.value
        at = written.at(self.country or UTC)
        return When(at, moment.method, written.precision, f"{moment.method}+country-zone")


def published(page: Page, stated: list[str], context: DateContext) -> tuple[When | None, str]:
    """Return the time of publication, or None if the page has none, and a note for ``Article.extraction``.

    The note is empty if the page has no date. If day and month of the only date cannot be told apart, it
    has both readings. ``stated`` has the values that the rule's selectors found.
    """
    # The cheapest and most trusted sources are read first. Other sources are read only if these are not
    # enough.
    region = region_of(page)
    first = [*from_rule(stated, region), *structured(page, region), *from_hint(context.hint)]
    zones = _zones(page, first, context.timezone)
    reader = _Reader(page, zones, context)
    found = reader.usable(first)
    if not any(c.value.precision != "day" and c.confidence >= _ENOUGH for c in found):
        found += reader.usable([*time_tags(page, region), *from_url(page.url), *visible(page, region)])
    if not found and not reader.unclear:
        found = reader.usable(remaining(page))
    if not found and not reader.unclear:
        found = reader.usable(relative(page, context.now, zones.unwritten))
    found += reader.confirmed(found)
    chosen = _choose(found)
    doubtful = max(reader.unclear, key=lambda c: c.confidence, default=None)
    if doubtful is not None and (chosen is None or chosen.confidence < doubtful.confidence):
        days = sorted(str(day) for day in _readings(doubtful.value))
        return None, f"{doubtful.method}+unclear: {' or '.join(days)}"
    if chosen is None:
        return None, ""
    chosen, disputed = _compared(chosen, found, page, zones)
    when = _by_site_clock(page, zones, zones.apply(chosen))
    if when.note.endswith("+assumed-utc") and zones.country is not None:
        when = zones.of_country(chosen)
    if disputed:
        when = When(when.at, when.source, "day", f"{when.note}+disputed")
    shown = [c.value.order for c in found if c.method in (VISIBLE, TIME_TAG) and c.value.order is not None]
    return replace(when, month_first=shown[0] if len(set(shown)) == 1 else None), when.note


class _Reader:
    """Settles the candidates of one page: two readings of a date, and dates without a year.

    ``unclear`` has the candidates whose day and month cannot be told apart.
    """

    def __init__(self, page: Page, zones: Zones, context: DateContext) -> None:
        self._page, self._zones, self._now, self._of_site = page, zones, context.now, context.month_first
        self._orders: list[bool | None] = []
        self.unclear: list[Moment] = []

    def usable(self, candidates: list[Moment]) -> list[Moment]:
        """Return the candidates with a plausible time. Midnight is changed to a day without a time."""
        usable: list[Moment] = []
        for candidate in candidates:
            written = candidate.value
            order = self._order() if written.swapped is not None else None
            one = settled(written, self._now.astimezone(self._zones.unwritten), order)
            if one is None:
                if written.swapped is not None:
                    self.unclear.append(candidate)
            elif plausible(self._zones.at(one), self._now):
                usable.append(_honest(Candidate(one, candidate.method, candidate.confidence)))
        return usable

    def confirmed(self, found: list[Moment]) -> list[Moment]:
        """Return the unclear candidates of which one reading is the day of another candidate."""
        days = {candidate.value.local.date() for candidate in found}
        confirmed: list[Moment] = []
        for candidate in list(self.unclear):
            written = candidate.value
            if len(fits := days & _readings(written)) == 1:
                self.unclear.remove(candidate)
                is_swapped = fits == {written.swapped and written.swapped.date()}
                one = settled(written, self._now, is_swapped)
                if one is not None:
                    confirmed.append(Candidate(one, candidate.method, candidate.confidence))
        return confirmed

    def _order(self) -> bool | None:
        """Return the order of day and month in the other dates of the page, or in those of the site.

        The order is True if the month is first.
        """
        if not self._orders:
            own = order_in(text for text in islice(self._page.tree.itertext(), _MAX_TEXTS))
            self._orders.append(self._of_site if own is None else own)
        return self._orders[0]


_MAX_TEXTS = 20_000
"""Maximum number of texts of a page that are searched for the order of day and month."""


def _readings(written: Written) -> set[date]:
    return {moment.date() for moment in (written.local, written.swapped) if moment is not None}


def _compared(chosen: Moment, found: list[Moment], page: Page, zones: Zones) -> tuple[Moment, bool]:
    """Return the stated time whose day the reader sees, and whether the day is disputed.

    It is disputed if the metadata state two days and the page shows neither.
    """
    stated = [c for c in found if c.method in _STATED and c.confidence >= _SURE]
    # Some systems write the time of the last change into one of the fields for the publication.
    changes = {zones.at(c.value) for c in stated_changes(page, region_of(page))}
    stated = [c for c in stated if c is chosen or zones.at(c.value) not in changes]
    if chosen not in stated or all(_is_near(c, chosen, zones) for c in stated):
        return chosen, False
    days = {day for written in _shown(page, region_of(page)) for day in _readings(written)}
    seen = [c for c in stated if c.value.local.date() in days or zones.at(c.value).date() in days]
    if not seen:
        return chosen, True
    return (chosen if chosen in seen else seen[0]), False


_STATED = (JSON_LD, OPEN_GRAPH, META, MICRODATA)
_SURE = 0.8
"""Minimum confidence of a stated time that is compared with other stated times."""


def _shown(page: Page, region: str | None) -> list[Written]:
    """Return the dates that the reader sees: those of ``<time>`` elements, then those near the headline."""
    found = [find_date(tag.text, region) for tag in page.times[:5]]
    found += [written for written, _ in near_headline(page, region)]
    return [written for written in found if written is not None]


def _is_near(one: Moment, other: Moment, zones: Zones) -> bool:
    """True if two times are at most a day apart, which may be a difference of zones."""
    return abs(zones.at(one.value) - zones.at(other.value)) <= timedelta(days=1)


def _by_site_clock(page: Page, zones: Zones, when: When) -> When:
    """Convert a moment that is known only in UTC to the time zone of the site.

    A clock time on the page shows the zone. Otherwise the days on the page and the country are compared. If
    no zone is found, the moment is returned unchanged.
    """
    # If utcoffset() is not zero, the moment is already known in local time.
    if when.precision == "day" or when.at.utcoffset() or zones.page or zones.rule:
        return when
    region = region_of(page)
    shown = _shown(page, region)
    zone, said = shown_zone(when.at, shown), "+shown-zone"
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
            return zone_on_day(moment, day, page.host, region)
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
        for c in _Reader(page, zones, context).usable(candidates)
        if since is None or zones.at(c.value) >= since
    ]
    chosen = max(usable, key=lambda c: c.confidence, default=None)
    if chosen is None:
        return None
    when = zones.apply(chosen)
    assumed = when.note.endswith("+assumed-utc") and zones.country is not None
    return zones.of_country(chosen) if assumed else when


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

    The zone of the page is the first zone other than UTC among its times: of publication, of the last change,
    and in ``<time>`` elements.
    """
    region = region_of(page)
    country = country_zone(region)
    stamps = (parse_stamp(tag.stamp, region) for tag in page.times[:_MAX_STAMPS] if tag.stamp)
    others: Iterable[Written | None] = chain(
        (c.value for c in candidates), (c.value for c in stated_changes(page, region)), stamps
    )
    # Many systems write all times in UTC, so UTC does not show the zone of the site.
    local = next(
        (
            written
            for written in others
            if written is not None and written.zone and written.zone.utcoffset(None)
        ),
        None,
    )
    if local is None or local.zone is None:
        return Zones(None, named_zone(timezone), country)
    # The offset may be that of the other half of the year. The zone of the country has both.
    if country is not None and local.local.replace(tzinfo=country).utcoffset() == local.zone.utcoffset(None):
        return Zones(country, named_zone(timezone), country)
    return Zones(local.zone, named_zone(timezone), country)


_MAX_STAMPS = 10
"""Maximum number of ``<time>`` elements that are read for the zone of the page."""


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

    If it is only a day, the best candidate with a time on that day is returned instead. If it is from the
    URL, and the page has this day too, the candidate of the page is returned.
    """
    chosen = max(found, key=lambda c: c.confidence, default=None)
    if chosen is None or chosen.value.precision != "day":
        return chosen
    day = chosen.value.local.date()
    if chosen.method == URL:
        shown = [c for c in found if c.method != URL and c.value.local.date() == day]
        chosen = max(shown, key=lambda c: c.confidence, default=chosen)
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
