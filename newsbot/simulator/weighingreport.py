"""The report of a comparison: one HTML file with tables and plots, and the tables as files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from newsbot.simulator.files import write_csv, write_parquet, write_text
from newsbot.simulator.judging import MINUTE, UNITS
from newsbot.simulator.report import STYLE
from newsbot.simulator.svg import Line, Plot, draw
from newsbot.simulator.tables import Table, as_table
from newsbot.simulator.weighing import Estimate, Weighed

POINTS = 200
"""Of a curve of delays."""


def write_weighed(folder: Path, about: Sequence[str], found: Sequence[Weighed], seeds: Sequence[int]) -> None:
    """Write ``policies``, ``policy_seeds`` and ``policy_hosts`` as CSV and Parquet, and ``report.html``."""
    for name, table in (
        ("policies", _policies(found)),
        ("policy_seeds", _seeds(found, seeds)),
        ("policy_hosts", _hosts(found)),
    ):
        write_csv(folder / f"{name}.csv", table)
        write_parquet(folder / f"{name}.parquet", table)
    write_text(folder / "report.html", make_report(about, found))


def make_report(about: Sequence[str], found: Sequence[Weighed]) -> str:
    """Return the HTML. ``about`` says what was run."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>Policies compared</title><style>{STYLE}</style></head><body>",
        "<h1>Policies compared</h1>",
        *(f"<p>{escape(line)}</p>" for line in about),
        _table([(one.choice.label, one.figures) for one in found]),
        *_plots(found),
    ]
    for kind in found[0].kinds:
        parts.append(f"<h2>{escape(kind.capitalize())}s alone</h2>")
        parts.append(_table([(one.choice.label, one.kinds[kind]) for one in found]))
    parts.append("<h2>Policies</h2><table><tbody>")
    for one in found:
        asks = f"{one.choice.strategy.about}; asks: {one.choice.way}"
        parts.append(f"<tr><th>{escape(one.choice.label)}</th><td>{escape(asks)}</td></tr>")
    parts.append("</tbody></table></body></html>")
    return "\n".join(parts) + "\n"


def _plots(found: Sequence[Weighed]) -> Iterator[str]:
    shares = np.linspace(0.005, 0.995, POINTS)
    curves = [
        Line(one.choice.label, 100 * shares, np.quantile(delays, shares) / MINUTE, colour=number)
        for number, one in enumerate(found)
        if len(delays := np.concatenate([run.delays for run in one.runs]))
    ]
    if curves:
        yield draw(
            Plot("Delay of events, the quickest first", "% of events", "minutes (log)", curves, log=True)
        )
    hours = np.arange(24) + 0.5
    for title, unit, name, factor in (
        ("Sources known as they are, by the hour of the day (UTC)", "% of sources", "stale_by_hour", -100.0),
        ("Load by the hour of the day (UTC)", "requests an hour", "by_hour", 1.0),
    ):
        lines = [
            Line(
                one.choice.label,
                hours,
                np.mean([getattr(run, name) for run in one.runs], axis=0) * factor
                + (100 if factor < 0 else 0),
                colour=number,
            )
            for number, one in enumerate(found)
        ]
        yield draw(Plot(title, "hour", unit, lines, marks=range(3, 24, 3)))
    dots = [
        Line(
            one.choice.label,
            [seed["megabytes"] for seed in one.seeds],
            [seed["mean"] for seed in one.seeds],
            dots=True,
            colour=number,
        )
        for number, one in enumerate(found)
        if all(math.isfinite(seed["mean"]) for seed in one.seeds)
    ]
    if dots:
        title = "What freshness costs: a dot for each seed"
        yield draw(Plot(title, "megabytes a day", "mean delay, minutes (log)", dots, log=True))


def _table(rows: Sequence[tuple[str, dict[str, Estimate]]]) -> str:
    head = "".join(f"<th>{escape(name)}<br>{escape(unit)}</th>" for name, unit in UNITS.items())
    body = "\n".join(
        f"<tr><td>{escape(label)}</td>"
        + "".join(f"<td>{cell(figures[name])}</td>" for name in UNITS)
        + "</tr>"
        for label, figures in rows
    )
    return (
        '<div style="overflow-x:auto">'
        f"<table><thead><tr><th>policy</th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cell(one: Estimate) -> str:
    """Return a mean and half the width of its interval, with the digits that this leaves certain."""
    if not math.isfinite(one.mean):
        return "-"
    if not math.isfinite(one.high):
        return f"{one.mean:.{_digits(one.mean)}f}"
    half = one.high - one.mean
    digits = _digits(one.mean if half == 0 else min(abs(one.mean), half * 10) or half)
    return f"{one.mean:.{digits}f} ± {half:.{digits}f}"


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 1 else 2


def _policies(found: Sequence[Weighed]) -> Table:
    rows = []
    for one in found:
        for kind, figures in {"all": one.figures, **one.kinds}.items():
            row: dict[str, object] = {"policy": one.choice.label, "kind": kind, "budget": one.a_day}
            for name, value in figures.items():
                row |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
            rows.append(row)
    return as_table(rows)


def _seeds(found: Sequence[Weighed], seeds: Sequence[int]) -> Table:
    return as_table(
        [
            {"policy": one.choice.label, "seed": seed, **figures}
            for one in found
            for seed, figures in zip(seeds, one.seeds, strict=True)
        ]
    )


def _hosts(found: Sequence[Weighed]) -> Table:
    return as_table(
        [
            {"policy": one.choice.label, "host": host, "mean": mean, "peak": peak}
            for one in found
            for host, (mean, peak) in one.runs[0].hosts.items()
        ]
    )
