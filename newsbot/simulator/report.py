"""The report of an experiment or of joined runs: one HTML file with all plots and tables in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from newsbot.simulator.svg import MAX_POINTS, Line, Plot, draw, number_text
from newsbot.simulator.tables import Table, as_rows

MB = 2**20
SECONDS = 10
"""Units of 100 ms in a second."""
MAX_SITUATIONS = 4
"""Situations that get plots over time of their own."""
SHOWN = (10, 52)
"""Those of the experiment: the ones that the published text quotes."""

STYLE = """
body { font: 15px/1.5 sans-serif; color: #1d2429; max-width: 980px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { margin-top: 2em; border-bottom: 1px solid #dde2e6; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { padding: 2px 10px; border-bottom: 1px solid #e6eaee; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.no { color: #b00020; font-weight: bold; } td.yes { color: #2c7a3f; }
svg { max-width: 100%; height: auto; display: block; margin: 1.2em 0; }
details { margin: 0.6em 0; } summary { cursor: pointer; font-weight: bold; }
"""


def make_report(title: str, lines: Sequence[str], tables: dict[str, Table]) -> str:
    """Return the HTML. ``lines`` say what was run; tables: ``runs``, ``series``, ``traffic``, and
    ``comparison`` if there is something to compare with."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in lines),
    ]
    if "comparison" in tables:
        parts += _verdict(tables["comparison"])
    parts += _over_time(tables)
    parts += _over_situations(tables)
    if "comparison" in tables:
        parts += _groups(tables["comparison"])
    parts += ["<h2>All runs</h2>", _runs(tables["runs"]), "</body></html>"]
    return "\n".join(parts) + "\n"


def _verdict(comparison: Table) -> Iterator[str]:
    yield "<h2>Against the published figures</h2>"
    rows = []
    for group, found in groupby(as_rows(comparison), key=lambda row: row["group"]):
        checks = list(found)
        judged = [row["within"] for row in checks if row["within"] is not None]
        rows.append(
            (
                group,
                len(checks),
                _largest(checks),
                f"{sum(judged)} of {len(judged)}" if judged else "-",
            )
        )
    yield _html_table(("figures", "number", "largest deviation", "within tolerance"), rows)


def _largest(checks: Sequence[dict[str, Any]]) -> str:
    row = max(checks, key=lambda row: abs(row["deviation"]))
    return f"{row['deviation']:+.3g} {row['unit']}".strip() + f" ({row['figure']})"


def _over_time(tables: dict[str, Table]) -> Iterator[str]:
    runs, series, traffic = tables["runs"], tables["series"], tables["traffic"]
    known = list(dict.fromkeys(runs["situation"]))
    chosen = [one for one in known if one in SHOWN] or known[:MAX_SITUATIONS]
    names = {
        key: name
        for *key_, name in zip(runs["situation"], runs["variant"], runs["strategy"], strict=True)
        for key in [tuple(key_)]
    }
    for situation in chosen:
        row = list(runs["situation"]).index(situation)
        about = f"{runs['pages'][row]:,} pages, {runs['time'][row]:,} units of 100 ms"
        if "change" in runs:
            about += f", {runs['change'][row]} changes and {runs['query'][row]} queries a page"
        yield f"<h2>Situation {situation}: {about}</h2>"
        for title, unit, table, column, divide, log in (
            ("Freshness", "% of pages", series, "freshness", 1, False),
            ("Stale pages", "pages", series, "needfresh", 1, False),
            ("Traffic", "MB (log)", traffic, "sumsize", MB, True),
            (
                "Downloads of sensors at one time (the most of some rows)",
                "downloads",
                series,
                "processing",
                1,
                False,
            ),
        ):
            lines = [
                Line(
                    names[situation, variant],
                    x / SECONDS / 3600,
                    y / divide,
                    colour=variant - 1,
                )
                for variant, x, y in _by_variant(table, situation, column)
                if column != "processing" or y.any()
            ]
            if column == "processing":
                lines = [_busiest(line) for line in lines]
            if lines:
                yield draw(Plot(title, "hours", unit, lines, log=log))


def _busiest(line: Line) -> Line:
    """Return a line of the highest of every few points, so that no peak is left out."""
    every = -(-len(line.x) // MAX_POINTS)
    starts = np.arange(0, len(line.x), every)
    return replace(line, x=line.x[starts], y=np.maximum.reduceat(line.y, starts))


def _by_variant(table: Table, situation: int, column: str) -> Iterator[tuple[int, Any, Any]]:
    here = np.asarray(table["situation"]) == situation
    variants = np.asarray(table["variant"])
    for variant in dict.fromkeys(variants[here].tolist()):
        rows = here & (variants == variant)
        yield variant, np.asarray(table["time"])[rows], np.asarray(table[column])[rows]


def _over_situations(tables: dict[str, Table]) -> Iterator[str]:
    runs = tables["runs"]
    if len(set(runs["situation"])) < 2:
        return
    yield "<h2>All situations</h2>"
    marks = range(1, max(runs["situation"]) + 1, 3)
    names = dict(zip(runs["variant"], runs["strategy"], strict=True))
    for title, unit, column, divide, log in (
        ("Freshness at the end", "% of pages", "freshness", 1, False),
        ("Traffic", "MB (log)", "sumsize", MB, True),
        ("Share of downloads that brought something new", "share", "useful", 1, False),
        ("Mean time from a change until it was seen", "hours (log)", "mean_wait", SECONDS * 3600, True),
    ):
        lines = [
            Line(name, x, np.array(y, float) / divide, dots=True, colour=number - 1)
            for number, name in names.items()
            for x, y in [_of_variant(runs, number, column)]
        ]
        yield draw(Plot(title, "situation", unit, lines, log=log, marks=marks))
    if "comparison" in tables:
        most = [row for row in as_rows(tables["comparison"]) if row["group"] == "MaxProcessing"][:-2]
        x = [int(row["figure"].rsplit(" ", 1)[1]) for row in most]
        lines = [
            Line(name, x, [row[name] for row in most], dots=True, colour=colour)
            for colour, name in enumerate(("published", "ours"))
        ]
        title = "Most downloads of sensors at one time"
        yield draw(Plot(title, "situation", "downloads", lines, marks=marks))


def _of_variant(runs: Table, variant: int, column: str) -> tuple[list[int], list[float]]:
    rows = [
        (situation, float("nan") if value is None else value)
        for situation, number, value in zip(runs["situation"], runs["variant"], runs[column], strict=True)
        if number == variant
    ]
    return [row[0] for row in rows], [row[1] for row in rows]


def _groups(comparison: Table) -> Iterator[str]:
    yield "<h2>Each published figure</h2>"
    for group, found in groupby(as_rows(comparison), key=lambda row: row["group"]):
        rows = [
            (
                row["figure"],
                number_text(row["published"]),
                number_text(row["ours"]),
                f"{row['deviation']:+.4g} {row['unit']}",
                "-" if row["tolerance"] is None else f"± {row['tolerance']:.3g}",
                {None: "-", True: "yes", False: "no"}[row["within"]],
            )
            for row in found
        ]
        columns = ("figure", "published", "ours", "deviation", "tolerance", "within")
        shown = " open" if group == "quotes" else ""
        yield f"<details{shown}><summary>{escape(group)}: {len(rows)}</summary>"
        yield _html_table(columns, rows) + "</details>"


def _runs(runs: Table) -> str:
    columns = [name for name in runs if name not in ("strategy", "waits")]
    rows = [[_cell(row[name]) for name in columns] for row in as_rows(runs)]
    return f"<details><summary>{len(rows)} runs</summary>{_html_table(columns, rows)}</details>"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(number_text(one) for one in value) or "-"
    return number_text(round(value, 4)) if isinstance(value, int | float) else str(value)


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "\n".join("<tr>" + "".join(_html_cell(str(value)) for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _html_cell(text: str) -> str:
    kind = f' class="{text}"' if text in ("yes", "no") else ""
    return f"<td{kind}>{escape(text)}</td>"
