"""Plots as inline SVG: colours come from the page's style sheet, so that they follow light and dark mode.

Every text in them is escaped. Each bar tells its figure to who points at it, and the whole plot has a
sentence for who cannot see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from markupsafe import Markup, escape

from newsbot.clock import utc
from newsbot.sites.statistics import percent
from newsbot.web.dashboard.overview import HOURS, Overview, Period

WIDTH, HEIGHT = 640, 180
LEFT, BOTTOM, TOP = 44, 22, 8
TICK = 32
"""Room that the text of a tick takes."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. ``label`` is told of it; ``tick`` stands below it, if it is not empty."""

    label: str
    value: float
    tick: str = ""
    second: float = 0.0
    """A part of the value that is drawn in the colour of trouble."""


def bars(title: str, given: Sequence[Bar], shown: Callable[[float], str] = "{:,.0f}".format) -> Markup:
    """Return a bar chart from 0."""
    top, ticks = _scale(max((bar.value for bar in given), default=0.0))
    room, height = WIDTH - LEFT, HEIGHT - BOTTOM - TOP
    step = room / max(1, len(given))
    parts = [_opening(title)]
    for tick in ticks:
        y = TOP + height * (1 - tick / top)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown(tick)}</text>'
        )
    for number, bar in enumerate(given):
        x = LEFT + number * step
        tall = height * bar.value / top
        parts.append(f"<g><title>{escape(bar.label)}: {shown(bar.value)}</title>")
        parts.append(f'<rect class="hit" x="{x:.1f}" y="{TOP}" width="{step:.1f}" height="{height}"/>')
        parts.append(_rect("bar", x, step, tall, height))
        if bar.second:
            parts.append(_rect("bad", x, step, height * min(bar.second, bar.value) / top, height))
        parts.append("</g>")
        if bar.tick and x < WIDTH - TICK:
            parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 6}">{escape(bar.tick)}</text>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (all that comes from outside is escaped above)


def line(title: str, given: Sequence[tuple[str, float | None, str]], shown: Callable[[float], str]) -> Markup:
    """Return a line from 0 to 1 through points of (label, value or None, tick); None interrupts it."""
    room, height = WIDTH - LEFT, HEIGHT - BOTTOM - TOP
    step = room / max(1, len(given))
    parts = [_opening(title)]
    for tick in (0.0, 0.5, 1.0):
        y = TOP + height * (1 - tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown(tick)}</text>'
        )
    path, begun = [], False
    for number, (label, value, tick_text) in enumerate(given):
        x = LEFT + (number + 0.5) * step
        if tick_text and x < WIDTH - TICK:
            parts.append(
                f'<text class="tick" x="{x - step / 2:.1f}" y="{HEIGHT - 6}">{escape(tick_text)}</text>'
            )
        if value is None:
            begun = False
            continue
        y = TOP + height * (1 - min(1.0, max(0.0, value)))
        path.append(f"{'L' if begun else 'M'}{x:.1f} {y:.1f}")
        begun = True
        parts.append(f'<g><title>{escape(label)}: {shown(value)}</title><circle class="dot" cx="{x:.1f}" ')
        parts.append(f'cy="{y:.1f}" r="2.5"/></g>')
    parts.append(f'<path class="line" d="{"".join(path)}"/>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (as above)


def spark(title: str, values: Sequence[float]) -> Markup:
    """Return a trend line without axes, for a cell of a table."""
    width, height = 96, 22
    top = max(values, default=0.0) or 1.0
    step = width / max(1, len(values) - 1)
    points = " ".join(
        f"{number * step:.1f},{height - 2 - (height - 4) * value / top:.1f}"
        for number, value in enumerate(values)
    )
    return Markup(  # noqa: S704  (as above)
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f'<title>{escape(title)}</title><polyline points="{points}"/></svg>'
    )


def _opening(title: str) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    )


def _rect(kind: str, x: float, step: float, tall: float, height: float) -> str:
    gap = min(2.0, step / 5)
    y = TOP + height - tall
    place = f'x="{x + gap / 2:.1f}" y="{y:.1f}" width="{step - gap:.1f}" height="{tall:.1f}"'
    return f'<rect class="{kind}" {place}/>'


def _scale(largest: float) -> tuple[float, list[float]]:
    """Return the top of the axis and its ticks: round numbers."""
    if largest <= 0:
        return 1.0, [0.0]
    rough = largest / 4
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    step = max(step, 1.0) if largest >= 1 else step
    number = ceil(largest / step)
    return step * number, [step * place for place in range(number + 1)]


def overview_plots(view: Overview) -> dict[str, Any]:
    """Return the plots of the overview by name."""
    day, week = view.last_day, view.last_month
    return {
        "hours_plot": bars(
            f"{day.articles} articles in the last 24 hours; by the hour over {HOURS} hours",
            [Bar(_hour(one), one.articles, _hour_tick(one)) for one in view.hours],
        ),
        "days_plot": bars(
            f"{week.articles} articles in the last 30 days, by the day",
            [Bar(_day(one), one.articles, _day_tick(place, one)) for place, one in enumerate(view.days)],
        ),
        "share_plot": line(
            f"{percent(day.useful_share)} useful share in the last 24 hours",
            [(_hour(one), one.useful_share, _hour_tick(one)) for one in view.hours],
            percent,
        ),
        "errors_plot": fetched_plot(view.hours),
    }


def fetched_plot(hours: Sequence[Period]) -> Markup:
    """Return what was fetched by the hour, and how much of it in vain."""
    fetched, errors = sum(one.fetched for one in hours[-24:]), sum(one.errors for one in hours[-24:])
    return bars(
        f"{fetched} fetched and {errors} errors in the last 24 hours",
        [Bar(_fetched(one), one.fetched, _hour_tick(one), one.errors) for one in hours],
    )


def trend_plot(counts: Sequence[int], now: float) -> Markup:
    """Return new articles by the day, the last of which is today."""
    days = [Period(int(now) - 86400 * (len(counts) - 1 - place), count) for place, count in enumerate(counts)]
    return bars(
        f"{sum(counts)} articles in {len(counts)} days",
        [Bar(_day(one), one.articles, _day(one) if place % 3 == 0 else "") for place, one in enumerate(days)],
    )


def _hour(one: Period) -> str:
    return utc(one.at).strftime("%d %b %H:00")


def _fetched(one: Period) -> str:
    return f"{_hour(one)}, {one.errors} errors; fetched"


def _hour_tick(one: Period) -> str:
    moment = utc(one.at)
    return moment.strftime("%d %b" if moment.hour == 0 else "%H:00") if moment.hour % 6 == 0 else ""


def _day(one: Period) -> str:
    return utc(one.at).strftime("%d %b")


def _day_tick(place: int, one: Period) -> str:
    return _day(one) if place % 5 == 0 else ""
