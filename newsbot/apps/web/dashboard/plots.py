"""Computes the plots of pages: scales, points and texts. The template ``plots.html`` draws them as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

from newsbot.apps.search.articles import Attention
from newsbot.apps.web.dashboard import rendering
from newsbot.apps.web.dashboard.overview import RANGES, Period, together
from newsbot.clock import DAY, utc
from newsbot.sites.statistics import percent
from newsbot.storage.sources import HOUR


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
    shown: Callable[[float], str] = rendering.number,
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
    seconds, days = RANGES[chosen][0], RANGE_NAMES[chosen]
    whole, ticks = together(given), _ticks(given, seconds)
    labels = [utc(one.at).strftime("%d %b" if seconds % DAY == 0 else "%d %b %H:00") for one in given]

    def chart(title: str, name: str) -> Plot:
        values = [getattr(one, name) for one in given]
        return bars(f"{title} in {days}", list(zip(labels, values, ticks, strict=True)))

    useful = [
        Point(label, one.useful_share, percent(one.useful_share), tick)
        for label, one, tick in zip(labels, given, ticks, strict=True)
    ]
    share_ticks = [(tick, percent(tick)) for tick in (0.0, 0.5, 1.0)]
    title = f"{percent(whole.useful_share)} useful share in {days}"
    return {
        "New articles": chart(_many(whole.articles, "article"), "articles"),
        "Pages fetched": chart(f"{_many(whole.fetched, 'page')} fetched", "fetched"),
        "Useful share": Plot(title, share_ticks, useful, line=True),
        "Errors": chart(_many(whole.errors, "error"), "errors"),
    }


_many = rendering.counted_with_thin_blanks
RANGE_NAMES = {name: f"{int(name[:-1])} days" for name in RANGES}


def _ticks(given: Sequence[Period], seconds: int) -> list[str]:
    """Return the text below each period. Most texts are empty.

    Periods of an hour have two texts for each day. Longer periods have about six texts in total.
    """
    moments = [utc(one.at) for one in given]
    if seconds == HOUR:
        return [
            one.strftime("%d %b" if one.hour == 0 else "%H:00") if one.hour % 12 == 0 else ""
            for one in moments
        ]
    # toordinal() counts the days since the year 1, so the same days have a text when the range moves on.
    step = max(1, len({one.date() for one in moments}) // 6)
    return [one.strftime("%d %b") if one.hour == 0 and one.toordinal() % step == 0 else "" for one in moments]


TICKS = 5
"""Approximate number of ticks in a chart of days."""


def attention_plots(found: Attention, *, share: bool) -> list[Plot]:
    """Return a bar chart for each query, all with the same scale.

    A bar shows the number of matching articles of a day. With ``share`` it shows their share of the day's
    articles.
    """
    charts = []
    for one in found.queries:
        counts = list(zip(found.days, found.numbers(one), found.articles, strict=True))
        step = len(counts) // TICKS + 1
        charts.append(
            [
                (
                    f"{day}, {_tenths(_part(number, every))} of {rendering.number(every)} articles",
                    _part(number, every) if share else number,
                    _day_of(day) if place % step == 0 else "",
                )
                for place, (day, number, every) in enumerate(counts)
            ]
        )
    # All charts have the same scale, so that people can compare the queries.
    largest = max((value for chart in charts for _, value, _ in chart), default=0.0)
    titles = [
        f"{one.query or 'all articles'}: {rendering.number(sum(found.numbers(one)))} articles"
        f" in {len(found.days)} days"
        for one in found.queries
    ]
    shown = _tenths if share else rendering.number
    return [bars(*one, shown, largest=largest) for one in zip(titles, charts, strict=True)]


def _day_of(day: str) -> str:
    return date.fromisoformat(day).strftime("%d %b")


def _part(number: int, every: int) -> float:
    return number / every if every else 0.0


def _tenths(share: float) -> str:
    return f"{100 * share:.1f} %"
