"""Plots as SVG, drawn by ourselves so that a report needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10
from typing import Any

import numpy as np

COLOURS = (
    "#1b6ca8", "#d1495b", "#3c8d53", "#e08e1b", "#7a4ea3", "#5c6670", "#111111", "#00a0a0",
    "#8c564b", "#e377c2", "#8a9a00", "#5fb7e5", "#f2a7b0", "#9fd39f", "#c5a3e0", "#c8b400",
)  # fmt: skip
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 34, 46
"""Room around the plot; the right side has the legend."""
MAX_POINTS = 400
"""Points of a line: more cannot be seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or the dots of one kind."""

    name: str
    x: Any
    y: Any
    dots: bool = False
    """Draw each point alone."""
    colour: int = 0
    """A number, so that what a line shows has one colour in all plots."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A title, what the axes show, and lines. ``log`` gives powers of ten the same room."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    log: bool = False
    width: int = 900
    height: int = 340
    marks: Sequence[float] = field(default=())
    """Where x has a tick; else round numbers."""


def draw(plot: Plot) -> str:
    """Return the plot as an ``<svg>`` element."""
    x_all = np.concatenate([np.asarray(line.x, float) for line in plot.lines])
    y_all = np.concatenate([_scaled(line.y, plot.log) for line in plot.lines])
    y_all = y_all[np.isfinite(y_all)]
    x_range = _Range(float(x_all.min()), float(x_all.max()), LEFT, plot.width - RIGHT)
    low, high = (float(y_all.min()), float(y_all.max())) if y_all.size else (0.0, 1.0)
    if not plot.log and 0 < low < 0.5 * high:
        low = 0.0
    y_range = _Range(low, high, plot.height - BOTTOM, TOP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.width} {plot.height}" '
            f'width="{plot.width}" height="{plot.height}" role="img" font-family="sans-serif" font-size="12">'
        ),
        f"<title>{escape(plot.title)}</title>",
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{escape(plot.title)}</text>',
        *_axes(plot, x_range, y_range),
    ]
    for number, line in enumerate(plot.lines):
        colour = COLOURS[line.colour % len(COLOURS)]
        parts += _dots(plot, line, x_range, y_range, colour) if line.dots else []
        parts += [] if line.dots else _curve(plot, line, x_range, y_range, colour)
        y = TOP + 8 + 18 * number
        x = plot.width - RIGHT + 12
        parts.append(f'<rect x="{x}" y="{y - 5}" width="16" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 22}" y="{y + 1}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>"])


class _Range:
    """Maps numbers to places on the paper."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        self.low = low
        self.high = high if high > low else low + 1
        self._first, self._last = first, last

    def place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self._first + share * (self._last - self._first), 1)

    def ticks(self) -> list[float]:
        """Return five or so round numbers within the range."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** floor(log10(rough))
        step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough * 0.999)
        first = np.ceil(self.low / step - 1e-9)
        last = np.floor(self.high / step + 1e-9)
        return [float(number * step) for number in np.arange(first, last + 1)]


def _log_ticks(span: _Range) -> list[float]:
    """Return logarithms of round numbers: powers of ten, with 2 and 5 times them if few fit."""
    powers = range(floor(span.low), floor(span.high) + 1)
    units = (1,) if len(powers) > 4 else (1, 2, 5)
    found = [power + log10(unit) for power in powers for unit in units]
    return [value for value in found if span.low - 1e-9 <= value <= span.high + 1e-9]


def _axes(plot: Plot, x_range: _Range, y_range: _Range) -> list[str]:
    left, right, bottom = LEFT, plot.width - RIGHT, plot.height - BOTTOM
    parts = []
    for value in _log_ticks(y_range) if plot.log else y_range.ticks():
        y = y_range.place(value)
        label = number_text(10**value if plot.log else value)
        parts.append(f'<path d="M{left} {y}H{right}" stroke="#dde2e6"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{label}</text>')
    for value in plot.marks or x_range.ticks():
        x = x_range.place(value)
        parts.append(f'<path d="M{x} {bottom}v4" stroke="#5c6670"/>')
        parts.append(f'<text x="{x}" y="{bottom + 17}" text-anchor="middle">{number_text(value)}</text>')
    middle = (left + right) / 2
    parts.append(f'<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#5c6670"/>')
    parts.append(f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{escape(plot.x_title)}</text>')
    height = (TOP + bottom) / 2
    parts.append(
        f'<text x="14" y="{height}" text-anchor="middle" transform="rotate(-90 14 {height})">'
        f"{escape(plot.y_title)}</text>"
    )
    return parts


def _curve(plot: Plot, line: Line, x_range: _Range, y_range: _Range, colour: str) -> list[str]:
    every = max(1, -(-len(line.x) // MAX_POINTS))
    places = _places(plot, line, x_range, y_range, every)
    if not places:
        return []
    return [f'<path d="M{"L".join(places)}" fill="none" stroke="{colour}" stroke-width="1.6"/>']


def _dots(plot: Plot, line: Line, x_range: _Range, y_range: _Range, colour: str) -> list[str]:
    return [
        f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}" fill-opacity="0.75"/>'
        for x, y in (place.split() for place in _places(plot, line, x_range, y_range, 1))
    ]


def _places(plot: Plot, line: Line, x_range: _Range, y_range: _Range, every: int) -> list[str]:
    return [
        f"{x_range.place(float(x))} {y_range.place(float(y))}"
        for x, y in zip(list(line.x)[::every], _scaled(line.y, plot.log)[::every], strict=True)
        if np.isfinite(y)
    ]


def _scaled(values: Any, log: bool) -> Any:
    found = np.asarray(values, float)
    if not log:
        return found
    return np.log10(np.where(found > 0, found, np.nan))


def number_text(value: float) -> str:
    """Return a number as people read it: thousands apart, no zeros that say nothing."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value + 0.0:.6g}"  # no minus before zero
