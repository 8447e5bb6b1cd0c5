"""Reads and writes the files of the simulator: tables (CSV and Parquet), input files and runs (Parquet).

Users can replace generated logs with recorded logs, so files are checked when they are read. Pages are
numbered from 1. The following list has the columns of each file and the order of its rows:

* pages: ``page``, ``size``; by page, without missing pages
* change log: ``page``, ``time``, ``type``, ``size``; by page, then by time
* query log: ``page``, ``time``; by page, then by time
* routes: ``robot`` (from 1), ``page``; by robot, then in the order of its visits

All functions that read raise :class:`newsbot.errors.UserError` with the file and, if possible, the row.

HTML reports with charts and tables are written for the published experiment, merged runs, and policies.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from newsbot.apps.files import atomic_target
from newsbot.apps.simulator import model
from newsbot.apps.simulator.experiment import (
    FACTORS,
    MB,
    Experiment,
    series_table,
    summarize_checks,
    traffic_table,
)
from newsbot.apps.simulator.site_world import MINUTE, UNITS
from newsbot.apps.simulator.strategies import Compared, Estimate
from newsbot.cli.program import PROGRAM
from newsbot.errors import UserError

pa, pc, pq = model.optional("pyarrow"), model.optional("pyarrow.csv"), model.optional("pyarrow.parquet")

MAX_PAGES = 10**8
_SIZE = (0, model.MAX_BYTES - 1)
_TIME = (0, model.LAST_MOMENT)
_NUMBERS = (
    "pages", "time", "waits", "wait_sum", "min_wait", "max_wait", "downloads", "found", "max_processing",
)  # fmt: skip
_RUN = ("strategy", *_NUMBERS, "fresh_step", "traffic_step", "stale", "processing", "cycles", "traffic")


def write_parquet(path: Path, table: model.Table | model.Columns) -> Any:
    """Write a table as Parquet, compressed by zstd, and return it as a pyarrow table.

    The file appears only when it is complete.
    """
    found = pa.Table.from_pylist(table) if isinstance(table, list) else pa.table(table)
    with atomic_target(path) as stream:
        pq.write_table(found, stream, compression="zstd")
    return found


def write_tables(folder: Path, tables: Mapping[str, model.Table | model.Columns]) -> None:
    """Write each table as CSV and as Parquet. In CSV, a list is written as JSON."""
    for name, table in tables.items():
        flat = write_parquet(folder / f"{name}.parquet", table)
        for place, field in enumerate(flat.schema):
            if pa.types.is_list(field.type):
                flat = flat.set_column(place, field.name, [[json.dumps(one.as_py()) for one in flat[place]]])
        with atomic_target(folder / f"{name}.csv") as stream:
            pc.write_csv(flat, stream)


def read_table(path: Path, kind: str, columns: Sequence[str], *, whole: bool = False) -> Any:
    """Return these columns of a Parquet file as a pyarrow table, or all columns if ``whole`` is True.

    ``kind`` is the name of this kind of file in error messages.
    """
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise UserError(
                    f"{path}: column {missing[0]!r} is missing; {kind} has the columns {', '.join(columns)}"
                )
            rows = file.metadata.num_rows
            # The metadata of the file have the number of rows, so the memory can be checked before the rows
            # are read.
            model.require_memory(24.0 * len(columns) * rows, f"{path} ({rows:,} rows)")
            return file.read(None if whole else list(columns))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: is not a Parquet file with {kind} ({reason})") from error


def write_pages(path: Path, sizes: model.Array) -> None:
    """Write a file of pages with these sizes."""
    write_parquet(path, {"page": np.arange(1, len(sizes) + 1, dtype=np.int32), "size": sizes})


def read_pages(path: Path) -> model.Array:
    """Return the sizes in a file of pages."""
    columns = _read_numbers(path, "a file of pages", {"page": (1, MAX_PAGES), "size": _SIZE})
    pages = columns["page"]
    _check_rows(
        path, pages != np.arange(1, len(pages) + 1), "pages must be numbered 1, 2, 3, … in this order", 1
    )
    if not len(pages):
        raise UserError(f"{path}: has no pages")
    return columns["size"].astype(np.int32)


def write_changes(path: Path, log: model.ChangeLog) -> None:
    """Write a change log."""
    columns = {"page": _pages(log.starts), "time": log.times, "type": log.types, "size": log.sizes}
    write_parquet(path, columns)


def read_changes(path: Path, pages: int) -> model.ChangeLog:
    """Return a change log for ``pages`` pages."""
    limits = {"page": (1, pages), "time": _TIME, "type": (model.FORBIDDEN, model.AVAILABLE), "size": _SIZE}
    columns = _read_numbers(path, "a change log", limits)
    types, sizes = columns["type"].astype(np.int8), columns["size"].astype(np.int32)
    return model.ChangeLog(_starts(path, columns, pages), columns["time"].astype(np.int32), types, sizes)


def write_queries(path: Path, log: model.QueryLog) -> None:
    """Write a query log."""
    write_parquet(path, {"page": _pages(log.starts), "time": log.times})


def read_queries(path: Path, pages: int) -> model.QueryLog:
    """Return a query log for ``pages`` pages."""
    columns = _read_numbers(path, "a query log", {"page": (1, pages), "time": _TIME})
    return model.QueryLog(_starts(path, columns, pages), columns["time"].astype(np.int32))


def write_routes(path: Path, routes: model.Routes) -> None:
    """Write routes."""
    write_parquet(path, {"robot": _pages(routes.starts), "page": routes.pages + 1})


def read_routes(path: Path, pages: int) -> model.Routes:
    """Return routes through at most ``pages`` pages."""
    columns = _read_numbers(path, "routes", {"robot": (1, pages), "page": (1, pages)})
    robots, visited = columns["robot"], columns["page"].astype(np.int32) - 1
    if not len(robots):
        raise UserError(f"{path}: has no routes")
    _check_rows(path, np.diff(robots) < 0, "not sorted by robot; sort the routes first", 2)
    counts = np.bincount(visited, minlength=pages)
    if counts.max() > 1:
        raise UserError(
            f"{path}: page {int(counts.argmax()) + 1} occurs twice; a page may occur only once in the file"
        )
    # The number of starts is one more than the number of robots, because the last start is the end of the
    # last route.
    return model.Routes(np.searchsorted(robots, np.arange(1, int(robots[-1]) + 2)).astype(np.int64), visited)


def write_run(path: Path, strategy: str, run: model.Run) -> None:
    """Write one run as a table with one row. ``strategy`` is its name in reports."""
    row = {
        "strategy": strategy,
        **{name: getattr(run, name) for name in _NUMBERS},
        "fresh_step": run.steps.fresh,
        "traffic_step": run.steps.traffic,
        "stale": run.stale.tolist(),
        "processing": None if run.processing is None else run.processing.tolist(),
        "cycles": list(run.cycles),
        "traffic": run.traffic.tolist(),
    }
    write_parquet(path, [row])


def read_run(path: Path) -> tuple[str, model.Run]:
    """Return the strategy and the run in a file of :func:`write_run`."""
    rows = read_table(path, "a run", _RUN).to_pylist()
    if len(rows) != 1:
        raise UserError(f"{path}: has {len(rows)} rows; a run has one")
    row = rows[0]
    try:
        run = model.Run(
            steps=model.Steps(row["fresh_step"], row["traffic_step"]),
            stale=np.array(row["stale"], np.int64),
            traffic=np.array(row["traffic"], np.int64),
            processing=None if row["processing"] is None else np.array(row["processing"], np.int64),
            cycles=tuple(row["cycles"]),
            **{name: row[name] for name in _NUMBERS},
        )
        # A series of a wrong length, for example in an edited file, would lead to wrong charts without an
        # error.
        sizes = len(run.fresh_times()), len(run.traffic_times())
        if (len(run.stale), run.traffic.shape[1]) != sizes:
            raise ValueError("series of wrong length")
    except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
        raise UserError(f"{path}: is not a run that {PROGRAM} simulate wrote ({error})") from error
    return str(row["strategy"]), run


def _read_numbers(path: Path, kind: str, limits: dict[str, tuple[int, int]]) -> dict[str, model.Array]:
    """Read columns of whole numbers and check their values.

    ``limits`` has the names of the columns, each with its lowest and its highest allowed value.
    """
    table = read_table(path, kind, list(limits))
    found = {}
    for name, (low, high) in limits.items():
        column = table.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise UserError(f"{path}: the column {name!r} must have whole numbers, without empty cells")
        values = column.to_numpy()
        wrong = np.flatnonzero((values < low) | (values > high))
        if wrong.size:
            value = values[wrong[0]]
            what = f"{name} {value} is negative" if value < 0 else f"{name} is {value}"
            raise UserError(f"{path}: row {wrong[0] + 1}: {what}; allowed are {low} to {high}")
        found[name] = values
    return found


def _check_rows(path: Path, wrong: model.Array, what: str, first: int) -> None:
    """Raise :class:`UserError` if an item of ``wrong`` is True.

    Item 0 belongs to row ``first`` of the file.
    """
    if wrong.any():
        raise UserError(f"{path}: row {int(wrong.argmax()) + first}: {what}")


def _pages(starts: model.Array) -> model.Array:
    """Return the number of the page (or robot) of each row, from 1."""
    return np.repeat(np.arange(1, len(starts), dtype=np.int32), np.diff(starts))


def _starts(path: Path, columns: dict[str, model.Array], pages: int) -> model.Array:
    """Return the index of the first row of each page, after a check of the order of the rows."""
    page, time = columns["page"].astype(np.int64), columns["time"].astype(np.int64)
    # Page and time are compared as one number. Its upper bits are the page, and its lower 32 bits are the
    # time. Item 0 of diff() compares rows 1 and 2 of the file. If this item is negative, row 2 is wrong.
    unsorted = np.diff((page << 32) + time) < 0
    _check_rows(path, unsorted, "not sorted by page and then by time; sort the log first", 2)
    return np.searchsorted(page, np.arange(1, pages + 2)).astype(np.int64)


# --- reports
UNITS_AN_HOUR = 36_000
"""Units of 100 ms in an hour."""
MAX_SITUATIONS = 4
"""Largest number of situations that get charts over time."""
SHOWN = (10, 52)
"""Situations of the experiment that get charts over time.

The text of the publication quotes these situations.
"""
MAX_POINTS = 400
"""Maximum number of points in a line. More points would not be visible."""
OVER_TIME = (
    ("Freshness", "% of pages", "series", "freshness", 1, False),
    ("Stale pages", "pages", "series", "needfresh", 1, False),
    ("Traffic", "MB (log)", "traffic", "sumsize", MB, True),
    ("Simultaneous downloads of sensors (maxima)", "downloads", "series", "processing", 1, False),
)
"""Charts over time: title, unit, table, column, divisor, and True for a logarithmic scale."""
OVER_SITUATIONS = (
    ("Freshness at the end", "% of pages", "freshness", 1, False),
    ("Traffic", "MB (log)", "sumsize", MB, True),
    ("Share of downloads that brought new content", "share", "useful", 1, False),
    ("Mean time from a change until it was seen", "hours (log)", "mean_wait", UNITS_AN_HOUR, True),
)


class Line(NamedTuple):
    """One line or one set of dots in a chart.

    Equal numbers in ``colour`` give equal colours in all charts.
    """

    name: str
    colour: int
    x: Any
    y: Any


class Listing(NamedTuple):
    """A table in a report. A table with a summary is folded, unless it is ``open``."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    summary: str = ""
    open: bool = False


class Chart(NamedTuple):
    """A chart in a report. ``marks`` are the positions of ticks on the x axis."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    log: bool = False
    dots: bool = False
    marks: Sequence[float] = ()


Part = str | Listing | Chart
"""A part of a report. Text is a heading."""


def make_folder(folder: Path) -> None:
    """Create a folder for tables and a report.

    Call this function before the runs, because an error after the runs would lose their results. Raises
    :class:`UserError` if the folder cannot be created, or if matplotlib is not installed.
    """
    model.optional("matplotlib")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be created ({error.strerror}); choose another --out") from error


def write_experiment(folder: Path, found: Experiment, about: list[str], *, judged: bool) -> None:
    """Write the tables (each as CSV and Parquet) and the report. The report begins with the lines ``about``.

    If ``judged`` is False, the table ``comparison`` has no tolerances.
    """
    named = [(*key, found.first.runs[key]) for key in sorted(found.first.runs)]
    most = [row for row in found.runs if row["max_processing"] is not None]
    kept = ("situation", "time", "pages", "change", "query", "max_processing")
    tables: dict[str, Any] = {
        "runs": found.runs,
        "series": series_table(named),
        "traffic": traffic_table(named),
        "correlations": [
            {"figure": figure, "variant": int(variant), **dict(zip(FACTORS, values, strict=True))}
            for figure in ("Sumsize", "Needfresh")
            for variant, values in found.correlations[figure].items()
        ],
        "ranking": [
            {"situation": row["situation"], **{f"place{n}": v for n, v in enumerate(row["order"], 1)}}
            for row in found.ranking
        ],
        "max_processing": [{name: row[name] for name in kept} for row in most],
        "event_counts": [{"log": log, **row} for log, rows in found.events.items() for row in rows],
        "comparison": [check.row(judged=judged) for check in found.checks],
    }
    write_tables(folder, tables)
    write_runs_report(folder, "The experiment of 2005, simulated again", about, tables)


def write_runs_report(folder: Path, title: str, about: Sequence[str], tables: Mapping[str, Any]) -> None:
    """Write ``report.html`` of runs into a folder. ``about`` contains lines that describe the runs.

    The tables are ``runs``, ``series``, ``traffic``, and ``comparison`` if there are published figures.
    """
    runs, comparison = tables["runs"], tables.get("comparison")
    parts: list[Part] = []
    if comparison:
        columns = ["figures", "number", "within tolerance", "largest deviation", "of"]
        parts += ["Against the published figures", Listing(columns, summarize_checks(comparison))]
    parts += _over_time(tables)
    if len({row["situation"] for row in runs}) > 1:
        parts += ["All situations", *_over_situations(runs, comparison)]
    if comparison:
        parts += _published_figures(comparison)
    columns = [name for name in runs[0] if name not in ("strategy", "waits")]
    rows = [[_cell(row[name]) for name in columns] for row in runs]
    parts += ["All runs", Listing(columns, rows, f"{len(rows)} runs")]
    _write_page(folder, title, about, parts)


def write_policies_report(folder: Path, about: Sequence[str], found: Sequence[Compared]) -> None:
    """Write ``report.html`` of a comparison of policies.

    ``about`` contains lines that describe the comparison.
    """
    parts: list[Part] = [
        _policies_table([(one.choice.label, one.figures) for one in found]),
        *_policy_charts(found),
    ]
    for kind in found[0].kinds:
        parts.append(f"{kind.capitalize()}s only")
        parts.append(_policies_table([(one.choice.label, one.kinds[kind]) for one in found]))
    listed = [(one.choice.label, f"{one.choice.strategy.about}; requests: {one.choice.way}") for one in found]
    parts += ["Policies", Listing(("policy", "what it does"), listed)]
    _write_page(folder, "Policies compared", about, parts)


def draw(chart: Chart) -> str:
    """Return the chart as an ``<svg>`` element. The same chart always gives the same bytes."""
    matplotlib, figures = model.optional("matplotlib"), model.optional("matplotlib.figure")
    # With "none", text stays text and can be searched. With the salt, the elements have the same ids in each
    # run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "newsbot", "font.size": 9}):
        figure = figures.Figure(figsize=(9, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for line in chart.lines:
            # tab20 has pairs of a dark and a light colour. The dark colours are used first.
            colour = matplotlib.colormaps["tab20"]((2 * line.colour % 20) + line.colour // 10)
            every = 1 if chart.dots else max(1, -(-len(line.x) // MAX_POINTS))
            style: dict[str, Any] = (
                {"marker": "o", "markersize": 4, "linestyle": "", "alpha": 0.75} if chart.dots else {}
            )
            x, y = np.asarray(line.x)[::every], np.asarray(line.y, float)[::every]
            axes.plot(x, y, label=line.name, color=colour, linewidth=1.4, **style)
        if chart.log:
            axes.set_yscale("log", nonpositive="mask")
        if chart.marks:
            axes.set_xticks(chart.marks)
        axes.yaxis.set_major_formatter(lambda value, _place: number_text(value))
        axes.set_title(chart.title, loc="left", fontweight="bold")
        axes.set(xlabel=chart.x_title, ylabel=chart.y_title)
        axes.grid(visible=True, color="#dde2e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False)
        stream = io.StringIO()
        # An entry with the value None is left out. With a date, the bytes would differ in each run.
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", metadata=metadata)
    text = stream.getvalue()
    return text[text.index("<svg") :]


def number_text(value: float) -> str:
    """Return a number with separators between thousands and without trailing zeros."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value + 0.0:.6g}"  # -0.0 + 0.0 is 0.0, so zero never has a minus


def estimate_text(one: Estimate) -> str:
    """Return a mean ± half the width of its confidence interval as text, rounded to meaningful digits."""
    if not math.isfinite(one.mean):
        return "-"
    if not math.isfinite(one.high):
        return f"{one.mean:.{_digits(one.mean)}f}"
    # The number of digits depends on the width of the interval: "± 12" needs no digits after the point.
    half = one.high - one.mean
    digits = _digits(one.mean if half == 0 else min(abs(one.mean), half * 10) or half)
    return f"{one.mean:.{digits}f} ± {half:.{digits}f}"


def _write_page(folder: Path, title: str, about: Sequence[str], parts: Sequence[Part]) -> None:
    loader = PackageLoader("newsbot.apps.simulator")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals["draw"] = draw
    page = environment.get_template("report.html").render(title=title, about=about, parts=parts)
    with atomic_target(folder / "report.html") as stream:
        stream.write(page.encode())


def _published_figures(comparison: model.Table) -> Iterator[Part]:
    yield "Each published figure"
    columns = ("figure", "published", "ours", "deviation", "tolerance", "within")
    for group, found in groupby(comparison, key=itemgetter("group")):
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
        yield Listing(columns, rows, f"{group}: {len(rows)}", open=group == "quotes")


def _over_time(tables: Mapping[str, Any]) -> Iterator[Part]:
    situations: dict[int, list[dict[str, Any]]] = {}
    for row in tables["runs"]:
        situations.setdefault(row["situation"], []).append(row)
    for situation in [one for one in SHOWN if one in situations] or list(situations)[:MAX_SITUATIONS]:
        first = situations[situation][0]
        about = f"{first['pages']:,} pages, {first['time']:,} units of 100 ms"
        if "change" in first:
            about += f", {first['change']} changes and {first['query']} queries per page"
        yield f"Situation {situation}: {about}"
        names = {row["variant"]: row["strategy"] for row in situations[situation]}
        for title, unit, name, column, divisor, log in OVER_TIME:
            table = tables[name]
            here = np.asarray(table["situation"]) == situation
            lines = []
            for variant, strategy in names.items():
                rows = here & (np.asarray(table["variant"]) == variant)
                x = np.asarray(table["time"])[rows] / UNITS_AN_HOUR
                y = np.asarray(table[column])[rows] / divisor
                if column == "processing":
                    x, y = _maxima(x, y)
                if column != "processing" or y.any():
                    lines.append(Line(strategy, variant - 1, x, y))
            if lines:
                yield Chart(title, "hours", unit, lines, log=log)


def _maxima(x: Any, y: Any) -> tuple[Any, Any]:
    """Reduce the points of a line to one maximum per group of points, so that no peak is lost."""
    starts = np.arange(0, len(x), -(-len(x) // MAX_POINTS))
    return x[starts], np.maximum.reduceat(y, starts)


def _over_situations(runs: model.Table, comparison: model.Table | None) -> Iterator[Chart]:
    marks = range(1, max(row["situation"] for row in runs) + 1, 3)
    variants: dict[tuple[int, str], model.Table] = {}
    for row in runs:
        variants.setdefault((row["variant"], row["strategy"]), []).append(row)
    for title, unit, column, divisor, log in OVER_SITUATIONS:
        lines = [
            Line(
                name,
                number - 1,
                [row["situation"] for row in rows],
                np.array([row[column] for row in rows], float) / divisor,  # None becomes NaN
            )
            for (number, name), rows in variants.items()
        ]
        yield Chart(title, "situation", unit, lines, log=log, dots=True, marks=marks)
    if comparison:
        most = [row for row in comparison if row["figure"].startswith("situation ")]
        most = [row for row in most if row["group"] == "MaxProcessing"]
        x = [int(row["figure"].rsplit(" ", 1)[1]) for row in most]
        lines = [
            Line(name, colour, x, [row[name] for row in most])
            for colour, name in enumerate(("published", "ours"))
        ]
        title = "Largest number of simultaneous downloads of sensors"
        yield Chart(title, "situation", "downloads", lines, dots=True, marks=marks)


def _policy_charts(found: Sequence[Compared]) -> Iterator[Chart]:
    shares = np.linspace(0.005, 0.995, MAX_POINTS // 2)
    delays = [np.concatenate([run.delays for run in one.runs]) for one in found]
    labels = [one.choice.label for one in found]
    lines = [
        Line(label, number, 100 * shares, np.quantile(late, shares) / MINUTE)
        for number, (label, late) in enumerate(zip(labels, delays, strict=True))
        if len(late)
    ]
    if lines:
        yield Chart("Delay of events, shortest first", "% of events", "minutes (log)", lines, log=True)
    known = [100 - 100 * np.mean([run.stale_by_hour for run in one.runs], axis=0) for one in found]
    load = [np.mean([run.requests_by_hour for run in one.runs], axis=0) for one in found]
    for title, unit, values in (
        ("Sources whose known state is right, by the hour of the day (UTC)", "% of sources", known),
        ("Load by the hour of the day (UTC)", "requests per hour", load),
    ):
        lines = [
            Line(label, number, np.arange(24) + 0.5, value)
            for number, (label, value) in enumerate(zip(labels, values, strict=True))
        ]
        yield Chart(title, "hour", unit, lines, marks=range(3, 24, 3))
    lines = [
        Line(label, number, *([run.figures[name] for run in one.runs] for name in ("megabytes", "mean")))
        for number, (label, one) in enumerate(zip(labels, found, strict=True))
        if all(math.isfinite(run.figures["mean"]) for run in one.runs)
    ]
    if lines:
        title = "The cost of freshness: one dot for each seed"
        yield Chart(title, "megabytes per day", "mean delay, minutes (log)", lines, log=True, dots=True)


def _policies_table(rows: Sequence[tuple[str, dict[str, Estimate]]]) -> Listing:
    columns = ["policy", *(f"{name}, {unit}" for name, unit in UNITS.items())]
    return Listing(
        columns, ([label, *(estimate_text(figures[name]) for name in UNITS)] for label, figures in rows)
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(number_text(one) for one in value) or "-"
    return number_text(round(value, 4)) if isinstance(value, int | float) else str(value)


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 1 else 2
