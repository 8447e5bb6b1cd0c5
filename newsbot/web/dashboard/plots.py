"""Draws plots as inline SVG. Colours come from the style sheet of the page and follow light and dark mode.

All texts are escaped. Each bar shows its value as a tooltip, and each plot has a title for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

from markupsafe import Markup, escape

from newsbot.clock import DAY, utc
from newsbot.search.articles import Attention
from newsbot.sites.statistics import percent
from newsbot.storage.sources import HOUR
from newsbot.web.dashboard import rendering
from newsbot.web.dashboard.news import TopEvent
from newsbot.web.dashboard.overview import RANGES, Period, together

HEIGHT = 180
LEFT, BOTTOM, TOP = 44, 22, 8
"""Height of a plot and margins in pixels. Widths are in percent, so that texts have the same size on every
screen."""
LAST_TICK = 84.0
"""Largest horizontal position of a tick's text, in percent of the width. Farther right, the text would be cut
off on a phone."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. ``label`` is its tooltip, and ``tick`` is the text below it, if not empty."""

    label: str
    value: float
    tick: str = ""


def bars(
    title: str,
    given: Sequence[Bar],
    shown: Callable[[float], str] = rendering.number,
    *,
    largest: float = 0.0,
) -> Markup:
    """Return a bar chart whose axis begins at 0, with its values as a table.

    ``shown`` converts a value to text. The axis reaches at least to ``largest``, so that several charts can
    have the same scale.
    """
    top, ticks = _scale(max([largest, *(bar.value for bar in given)]))
    step = 100 / max(1, len(given))
    parts = []
    for number, bar in enumerate(given):
        x = number * step
        parts.append(f"<g><title>{escape(bar.label)}: {shown(bar.value)}</title>")
        # This invisible area is as high as the plot, so that the tooltip also appears above a small bar.
        parts.append(f'<rect class="hit" x="{x:.2f}%" y="{TOP}" width="{step:.2f}%" height="{_room()}"/>')
        parts.append(f"{_rect(x, step, bar.value / top)}</g>{_tick(x, bar.tick)}")
    rows = [(bar.label, shown(bar.value)) for bar in given]
    return _plot(title, [(tick / top, shown(tick)) for tick in ticks], parts, rows)


def line(title: str, given: Sequence[tuple[str, float | None, str]], shown: Callable[[float], str]) -> Markup:
    """Return a line chart with an axis from 0 to 1.

    Each point has a label, a value, and a tick (the text below it). A value of None interrupts the line.
    """
    step = 100 / max(1, len(given))
    parts, before = [], None
    for number, (label, value, tick_text) in enumerate(given):
        parts.append(_tick(number * step, tick_text))
        if value is None:
            before = None
            continue
        x, y = (number + 0.5) * step, _height(min(1.0, max(0.0, value)))
        if before is not None:
            parts.append(f'<line class="line" x1="{before[0]:.2f}%" y1="{before[1]:.1f}" ')
            parts.append(f'x2="{x:.2f}%" y2="{y:.1f}"/>')
        before = x, y
        parts.append(f'<g><title>{escape(label)}: {shown(value)}</title><circle class="dot" cx="{x:.2f}%" ')
        parts.append(f'cy="{y:.1f}" r="2.5"/></g>')
    rows = [(label, "-" if value is None else shown(value)) for label, value, _ in given]
    return _plot(title, [(tick, shown(tick)) for tick in (0.0, 0.5, 1.0)], parts, rows)


def joined_plot(event: TopEvent) -> Markup:
    """Return a small bar chart of how many sites joined an event in each of the last hours."""
    counts = [len(one.sites) for one in event.hours]
    top, step = max([*counts, 1]), 4
    parts = []
    for number, one in enumerate(event.hours):
        if one.sites:
            tall = max(3.0, 24 * len(one.sites) / top)  # at least 3 pixels, so that one site stays visible
            names = ", ".join(one.sites[:8]) + (" …" if len(one.sites) > 8 else "")
            parts.append(f"<g><title>{one.at:%H:00}: {escape(names)}</title>")
            parts.append(f'<rect class="bar" x="{number * step}" y="{24 - tall:.1f}" width="3" ')
            parts.append(f'height="{tall:.1f}"/></g>')
    width = step * len(counts)
    return Markup(  # noqa: S704  (all that comes from outside is escaped above)
        f'<svg class="pulse" viewBox="0 0 {width} 24" role="img" aria-label="new sites by the hour">'
        f'{"".join(parts)}<line class="grid" x1="0" x2="{width}" y1="23.5" y2="23.5"/></svg>'
    )


def spark(title: str, values: Sequence[float]) -> Markup:
    """Return a small line chart without axes (a sparkline), for a cell of a table."""
    width, height = 96, 22
    top = max(values, default=0.0) or 1.0  # all values can be 0
    step = width / max(1, len(values) - 1)
    points = " ".join(
        f"{number * step:.0f},{height - 2 - (height - 4) * value / top:.0f}"
        for number, value in enumerate(values)
    )
    return Markup(  # noqa: S704  (as above)
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f'<title>{escape(title)}</title><polyline points="{points}"/></svg>'
    )


def _plot(
    title: str, ticks: Sequence[tuple[float, str]], parts: Sequence[str], rows: Sequence[tuple[str, str]]
) -> Markup:
    """Return axis, drawing (``parts``) and table (``rows``) as one piece of HTML.

    ``ticks`` has the position (0 to 1) and the text of each tick of the vertical axis.
    """
    grid = "".join(
        f'<line class="grid" x1="0" x2="100%" y1="{_height(at):.1f}" y2="{_height(at):.1f}"/>'
        for at, _ in ticks
    )
    axis = "".join(
        f'<text class="tick" x="{LEFT - 6}" y="{_height(at) + 4:.1f}" text-anchor="end">{text}</text>'
        for at, text in ticks
    )
    table = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td class="n">{value}</td></tr>' for label, value in rows
    )
    return Markup(  # noqa: S704  (all that comes from outside is escaped above)
        f'<div class="plot"><svg class="axis" width="{LEFT}" height="{HEIGHT}" aria-hidden="true">'
        f"{axis}</svg>"
        f'<svg class="plot" width="100%" height="{HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{grid}{''.join(parts)}</svg></div>"
        f"<details><summary>Show as table</summary><table><tbody>{table}</tbody></table></details>"
    )


def _room() -> int:
    """Return the height of the drawing area in pixels."""
    return HEIGHT - BOTTOM - TOP


def _height(part: float) -> float:
    return TOP + _room() * (1 - part)


def _tick(x: float, text: str) -> str:
    if not text or x > LAST_TICK:
        return ""
    return f'<text class="tick" x="{x:.2f}%" y="{HEIGHT - 6}">{escape(text)}</text>'


def _rect(x: float, step: float, part: float) -> str:
    gap, tall = step / 5, _room() * part
    place = f'x="{x + gap / 2:.2f}%" y="{_height(part):.1f}" width="{step - gap:.2f}%" height="{tall:.1f}"'
    return f'<rect class="bar" {place}/>'


def _scale(largest: float) -> tuple[float, list[float]]:
    """Return the upper end of an axis that reaches to ``largest``, and its ticks. All are round numbers."""
    if largest <= 0:
        return 1.0, [0.0]
    rough = largest / 4
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    step = max(step, 1.0) if largest >= 1 else step  # no fractions on an axis of counts
    number = ceil(largest / step)
    return step * number, [step * place for place in range(number + 1)]


def activity_plots(given: Sequence[Period], chosen: str) -> dict[str, Markup]:
    """Return charts of the crawl's activity in a range of time, by caption.

    ``chosen`` is one of :data:`newsbot.web.dashboard.overview.RANGES`, and ``given`` has its periods.
    """
    seconds, days = RANGES[chosen][0], RANGE_NAMES[chosen]
    whole, ticks = together(given), _ticks(given, seconds)
    labels = [utc(one.at).strftime("%d %b" if seconds % DAY == 0 else "%d %b %H:00") for one in given]

    def chart(title: str, name: str) -> Markup:
        values = [getattr(one, name) for one in given]
        return bars(title, [Bar(*one) for one in zip(labels, values, ticks, strict=True)])

    shares = [one.useful_share for one in given]
    return {
        "New articles": chart(f"{_many(whole.articles, 'article')} in {days}", "articles"),
        "Pages fetched": chart(f"{_many(whole.fetched, 'page')} fetched in {days}", "fetched"),
        "Useful share": line(
            f"{percent(whole.useful_share)} useful share in {days}",
            list(zip(labels, shares, ticks, strict=True)),
            percent,
        ),
        "Errors": chart(f"{_many(whole.errors, 'error')} in {days}", "errors"),
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
    step = max(1, len({one.date() for one in moments}) // 6)
    return [one.strftime("%d %b") if one.hour == 0 and one.toordinal() % step == 0 else "" for one in moments]


TICKS = 5
"""Approximate number of ticks in a chart of days."""


def attention_plots(found: Attention, *, share: bool) -> list[Markup]:
    """Return a bar chart for each query, all with the same scale.

    Each bar is the number of matching articles of a day, or with ``share`` their share of the day's articles.
    """
    shown = _tenths if share else rendering.number
    charts = []
    for one in found.queries:
        numbers = found.numbers(one)
        pairs = list(zip(found.days, numbers, found.articles, strict=True))
        charts.append(
            [
                Bar(
                    f"{day}, {_tenths(_part(number, every))} of {rendering.number(every)} articles",
                    _part(number, every) if share else number,
                    _day_of(day) if place % (len(pairs) // TICKS + 1) == 0 else "",
                )
                for place, (day, number, every) in enumerate(pairs)
            ]
        )
    # All charts have the same scale, so that people can compare the queries.
    largest = max((bar.value for chart in charts for bar in chart), default=0.0)
    return [
        bars(
            f"{one.query or 'all articles'}: {rendering.number(sum(found.numbers(one)))} articles"
            f" in {len(found.days)} days",
            chart,
            shown,
            largest=largest,
        )
        for one, chart in zip(found.queries, charts, strict=True)
    ]


def _day_of(day: str) -> str:
    return date.fromisoformat(day).strftime("%d %b")


def _part(number: int, every: int) -> float:
    return number / every if every else 0.0


def _tenths(share: float) -> str:
    return f"{100 * share:.1f} %"
