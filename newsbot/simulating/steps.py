"""``scrapy simulate``: each step of the experiment alone, on files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from newsbot.cli.command import Call
from newsbot.errors import ArgumentError, UserError
from newsbot.simulator import logfiles
from newsbot.simulator.draws import stream
from newsbot.simulator.experiment import write_tables
from newsbot.simulator.files import make_folder, read_table, write_text
from newsbot.simulator.history import History, pack
from newsbot.simulator.logs import guess_rows, make_changes, make_pages, make_queries
from newsbot.simulator.memory import require
from newsbot.simulator.model import FREQUENCIES, MAX_TIME, make_routes
from newsbot.simulator.report import make_report
from newsbot.simulator.runfiles import merge as merge_runs
from newsbot.simulator.runfiles import read_run, write_run
from newsbot.simulator.runs import Run, run_robots, run_sensor
from newsbot.simulator.tables import summary

BYTES_A_ROW = 24
"""Memory that a row of a log takes while it is made and written."""


def pages(call: Call) -> int:
    """Make pages of random sizes."""
    options = call.options
    if options.pages > logfiles.MAX_PAGES:
        raise ArgumentError(f"--pages {options.pages}: at most {logfiles.MAX_PAGES}")
    require(BYTES_A_ROW * options.pages, f"{options.pages:,} pages")
    sizes = make_pages(options.pages, stream("pages", options.seed, options.pages))
    logfiles.write_pages(options.output, sizes)
    return _done(call, "pages", len(sizes))


def changes(call: Call) -> int:
    """Make a change log."""
    options = call.options
    _check_time(options.time)
    sizes = logfiles.read_pages(options.pages)
    _check_rows(len(sizes), options.intensity, "change")
    key = stream("changes", options.seed, len(sizes), options.time, _plain(options.intensity))
    log = make_changes(sizes, options.time, options.intensity, FREQUENCIES[options.frequencies], key)
    logfiles.write_changes(options.output, log)
    return _done(call, "changes", log.rows)


def queries(call: Call) -> int:
    """Make a query log."""
    options = call.options
    _check_time(options.time)
    count = len(logfiles.read_pages(options.pages))
    _check_rows(count, options.intensity, "query")
    key = stream("queries", options.seed, count, options.time, _plain(options.intensity))
    log = make_queries(count, options.time, options.intensity, key)
    logfiles.write_queries(options.output, log)
    return _done(call, "queries", log.rows)


def routes(call: Call) -> int:
    """Split pages among robots."""
    options = call.options
    count = len(logfiles.read_pages(options.pages))
    if options.robots > count:
        raise ArgumentError(f"--robots {options.robots}: there are {count} pages")
    logfiles.write_routes(options.output, make_routes(count, options.robots))
    return _done(call, "robots", options.robots)


def robot(call: Call) -> int:
    """Run robots on files."""
    return _robots(call, modified=False)


def modified(call: Call) -> int:
    """Run modified robots on files."""
    return _robots(call, modified=True)


def sensor(call: Call) -> int:
    """Run sensors on files."""
    options = call.options
    history, count = _history(options)
    log = logfiles.read_queries(options.queries, count)
    run = run_sensor(history, log, options.time, stream("run", options.seed, "sensor"))
    return _finish(call, "sensors", run)


def merge(call: Call) -> int:
    """Join runs as tables in a folder."""
    options = call.options
    named = []
    for path in options.runs:
        strategy, run = read_run(path)
        named.append((f"{strategy} ({path.stem})", run))
    tables = merge_runs(named)
    make_folder(options.out)
    write_tables(options.out, tables)
    _write_report(options.out, tables)
    return _done(call, "runs", len(named))


def report(call: Call) -> int:
    """Make the report of a folder of tables again."""
    folder = call.options.folder
    tables = {}
    for name, columns in (
        ("runs", ("situation", "variant", "strategy", "pages", "time", "freshness", "sumsize")),
        ("series", ("situation", "variant", "time", "needfresh", "freshness", "processing")),
        ("traffic", ("situation", "variant", "time", "sumsize")),
        ("comparison", ("group", "figure", "published", "ours", "deviation", "within")),
    ):
        path = folder / f"{name}.parquet"
        if path.exists() or name != "comparison":
            table = read_table(path, f"the table {name}", columns, whole=True)
            plain = name in ("runs", "comparison")
            tables[name] = {
                column: values.to_pylist() if plain else values.to_numpy()
                for column, values in zip(table.column_names, table.columns, strict=True)
            }
    if not len(tables["runs"]["situation"]):
        raise UserError(f"{folder}: runs.parquet holds no runs")
    _write_report(folder, tables)
    return _done(call, "runs", len(tables["runs"]["situation"]))


def _write_report(folder: Path, tables: dict[str, Any]) -> None:
    lines = ["Made by: scrapy simulate report. The model is described in docs/simulator.md."]
    write_text(folder / "report.html", make_report("Simulated runs", lines, tables))


def _robots(call: Call, *, modified: bool) -> int:
    options = call.options
    history, count = _history(options)
    route = logfiles.read_routes(options.routes, count)
    kind = "modified robot" if modified else "robot"
    run = run_robots(history, route, options.time, stream("run", options.seed, kind), modified=modified)
    return _finish(call, f"{route.robots} {kind}{'s' if route.robots > 1 else ''}", run)


def _history(options: Any) -> tuple[History, int]:
    _check_time(options.time)
    sizes = logfiles.read_pages(options.pages)
    log = logfiles.read_changes(options.changes, len(sizes))
    return pack(sizes, log, options.time), len(sizes)


def _finish(call: Call, strategy: str, run: Run) -> int:
    write_run(call.options.output, strategy, run)
    figures = {"strategy": strategy, "file": str(call.options.output), **summary([run])}
    if call.json:
        call.document(figures)
    else:
        for name, value in figures.items():
            call.text(f"{name:<16}{'-' if value is None else value}")
    return 0


def _done(call: Call, what: str, count: int) -> int:
    place = getattr(call.options, "output", None) or getattr(call.options, "out", None) or call.options.folder
    if call.json:
        call.document({"file": str(place), what: count})
    else:
        call.note(
            f"{count:,} {what} written to {place}" if what != "robots" else f"routes written to {place}"
        )
    return 0


def _check_time(time: int) -> None:
    if time > MAX_TIME:
        raise ArgumentError(f"--time {time}: at most {MAX_TIME} units of 100 ms, three years")


def _check_rows(count: int, intensity: float, what: str) -> None:
    rows = guess_rows(count, intensity)
    require(BYTES_A_ROW * rows, f"a {what} log of {rows:,} rows")


def _plain(intensity: float) -> float:
    """Return 5 for 5.0, so that a log is that of the plan."""
    return int(intensity) if intensity == int(intensity) else intensity
