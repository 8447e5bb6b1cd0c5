"""Computes the plots of pages: scales, points and texts. The template ``plots.html`` draws them as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10

from newsbot.apps.numbers import percent
from newsbot.apps.search.articles import Attention, Followed
from newsbot.apps.web.dashboard.articles import Reports
from newsbot.apps.web.dashboard.overview import RANGES, Period, together
from newsbot.apps.web.dashboard.rendering import (
    count,
    counted_text,
    day_text,
    decimal_text,
    number_text,
    plain,
)
from newsbot.clock import DAY, utc
from newsbot.storage.base import HOUR


@dataclass(frozen=True, slots=True)
class Point:
    """One bar, or one point of a line."""

    label: str
    """The name of the point, for its tooltip and for the table."""
    part: float | None
    """The height, from 0 to 1 (the upper end of the axis). If it is None, the line has a gap."""
    shown: str
    """The value as text."""
    tick: str
    """The text below the point; empty for most points."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart: bars, or a line."""

    title: str
    ticks: Sequence[tuple[float, str]]
    """Position (0 to 1) and text of each tick of the vertical axis."""
    points: Sequence[Point]
    line: bool = False


def bars(
    title: str,
    given: Sequence[tuple[str, float, str]],
    shown: Callable[[float], str] = number_text,
    *,
    largest: float = 0.0,
) -> Plot:
    """Return a bar chart whose axis begins at 0. Each bar has a label, a value and a tick.

    ``shown`` converts a value to text. The axis reaches at least to ``largest``, so that several charts can
    have the same scale.
    """
    top, ticks = _scale(max([largest, *(value for _, value, _ in given)]))
    points = [Point(label, value / top, shown(value), tick) for label, value, tick in given]
    return Plot(title, [(tick / top, shown(tick)) for tick in ticks], points)


def _scale(largest: float) -> tuple[float, list[float]]:
    """Return the upper end and the ticks of an axis that reaches to ``largest``, as round numbers."""
    if largest <= 0:
        return 1.0, [0.0]
    # The axis has about four steps. A step is 1, 2 or 5 times a power of ten.
    rough = largest / 4
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    step = max(step, 1.0) if largest >= 1 else step  # an axis of counts has no fractions
    number = ceil(largest / step)
    return step * number, [step * place for place in range(number + 1)]


def activity_plots(given: Sequence[Period], chosen: str) -> dict[str, Plot]:
    """Return charts of the crawl's activity in a range of time, by caption.

    ``chosen`` is a key of :data:`newsbot.apps.web.dashboard.overview.RANGES`, and ``given`` contains its
    periods.
    """
    seconds, days = RANGES[chosen][0], range_names()[chosen]
    whole, ticks = together(given), _ticks(given, seconds)
    labels = [_label(utc(one.at), hour=seconds % DAY != 0) for one in given]

    def chart(what: str, name: str) -> Plot:
        values = [getattr(one, name) for one in given]
        title = plain("{what} in {days}", what=what, days=days)
        return bars(title, list(zip(labels, values, ticks, strict=True)))

    useful = [
        Point(label, one.useful_share, percent(one.useful_share), tick)
        for label, one, tick in zip(labels, given, ticks, strict=True)
    ]
    share_ticks = [(tick, percent(tick)) for tick in (0.0, 0.5, 1.0)]
    share = plain(
        "{share} of the pages were articles in {days}", share=percent(whole.useful_share), days=days
    )
    fetched = str(count("{n} page fetched", "{n} pages fetched", whole.fetched))
    return {
        plain("New articles"): chart(counted_text(whole.articles, "article"), "articles"),
        plain("Pages fetched"): chart(fetched, "fetched"),
        plain("Useful share"): Plot(share, share_ticks, useful, line=True),
        plain("Errors"): chart(counted_text(whole.errors, "error"), "errors"),
    }


def range_names() -> dict[str, str]:
    """Return the ranges of time that a user can choose, with their names."""
    return {name: counted_text(int(name[:-1]), "day") for name in RANGES}


def _label(at: datetime, *, hour: bool) -> str:
    day = day_text(at, with_year=False)
    return f"{day} {at:%H:00}" if hour else day


def _ticks(given: Sequence[Period], seconds: int) -> list[str]:
    """Return the text below each period. Most texts are empty.

    Periods of an hour have two texts for each day. Longer periods have about six texts in total.
    """
    moments = [utc(one.at) for one in given]
    if seconds == HOUR:
        return [
            (f"{one:%H:00}" if one.hour else day_text(one, with_year=False)) if one.hour % 12 == 0 else ""
            for one in moments
        ]
    # toordinal() counts the days since the year 1, so the same days have a text when the range moves on.
    step = max(1, len({one.date() for one in moments}) // 6)
    return [
        day_text(one, with_year=False) if one.hour == 0 and one.toordinal() % step == 0 else ""
        for one in moments
    ]


TICKS = 5
"""Approximate number of ticks in a chart of days or of reports."""


def reports_plot(given: Sequence[Reports]) -> Plot:
    """Return the chart of the reports of a story or an event, by the hour or by longer periods."""
    step = len(given) // TICKS + 1
    points = []
    for place, one in enumerate(given):
        label, day = _label(one.at, hour=one.hours < 24), day_text(one.at, with_year=False)
        # The first one has no hour: the next one may be near, and their texts must not overlap.
        tick = "" if place % step else f"{one.at:%H:00}" if one.hours < 24 and place and one.at.hour else day
        points.append((label, float(one.articles), tick))
    hours = given[0].hours if given else 1
    title = (
        count("Reports by the hour (UTC)", "Reports in each {n} hours (UTC)", hours)
        if hours < 24
        else count("Reports by the day (UTC)", "Reports in each {n} days (UTC)", hours // 24)
    )
    return bars(str(title), points)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart with several lines."""

    name: str
    total: str
    """A sentence with the sum."""
    parts: Sequence[float]
    """The heights, from 0 to 1."""
    shown: Sequence[str]
    """The values as text."""


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A chart with a line for each series."""

    title: str
    ticks: Sequence[tuple[float, str]]
    labels: Sequence[str]
    """The names of the points, for the text under the chart and for the table."""
    below: Sequence[str]
    """The text below each point; empty for most points."""
    series: Sequence[Series]


def attention_plot(found: Attention, *, share: bool) -> LinePlot:
    """Return a chart with a line for each query.

    A line shows the number of matching articles of each day. With ``share`` it shows their share of the day's
    articles.
    """
    lines = [
        [_part(number, every) if share else float(number) for number, every in _counts(found, one)]
        for one in found.queries
    ]
    top, ticks = _scale(max((value for line in lines for value in line), default=0.0))
    series = [
        _series(found, one, [value / top for value in line])
        for one, line in zip(found.queries, lines, strict=True)
    ]
    step = len(found.days) // TICKS + 1
    labels = [day_text(_midnight(day), with_year=False) for day in found.days]
    return LinePlot(
        "; ".join(one.total for one in series),
        [(tick / top, _tenths(tick) if share else number_text(tick)) for tick in ticks],
        labels,
        [label if place % step == 0 else "" for place, label in enumerate(labels)],
        series,
    )


def _counts(found: Attention, one: Followed) -> list[tuple[int, int]]:
    return list(zip(found.numbers(one), found.articles, strict=True))


def _series(found: Attention, one: Followed, parts: Sequence[float]) -> Series:
    name = one.query or plain("all articles")
    articles = counted_text(sum(found.numbers(one)), "article")
    total = plain("{query}: {articles} in {days}", query=name, articles=articles, days=_days(found))
    shown = [
        plain(
            "{number} ({share} of {all})",
            number=number_text(number),
            share=_tenths(_part(number, every)),
            all=number_text(every),
        )
        for number, every in _counts(found, one)
    ]
    return Series(name, total, parts, shown)


def _days(found: Attention) -> str:
    return counted_text(len(found.days), "day")


def days_plot(found: Attention) -> Plot:
    """Return a bar chart of the articles of the first query, by day."""
    one, step = found.queries[0], len(found.days) // TICKS + 1
    points = []
    for place, (day, number) in enumerate(zip(found.days, found.numbers(one), strict=True)):
        label = day_text(_midnight(day), with_year=False)
        points.append((label, float(number), "" if place % step else label))
    articles = counted_text(sum(found.numbers(one)), "article")
    return bars(plain("{what} in {days}", what=articles, days=_days(found)), points)


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def _part(number: int, every: int) -> float:
    return number / every if every else 0.0


def _tenths(share: float) -> str:
    return f"{decimal_text(f'{100 * share:.1f}')} %"
