"""The actions of ``scrapy simulate``. Each takes the options, writes files and returns an answer to print.

All actions raise :class:`newsbot.errors.ArgumentError` for wrong options, before they open or create a file.
They raise :class:`newsbot.errors.UserError` for files that cannot be read or written, and for work that needs
more memory than is free.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Kind
from newsbot.simulator import experiment as experiments
from newsbot.simulator import files
from newsbot.simulator import report as reports
from newsbot.simulator import strategy_comparison as comparison
from newsbot.simulator.draws import stream
from newsbot.simulator.model import (
    FREQUENCIES,
    MAX_TIME,
    estimate_rows,
    make_changes,
    make_pages,
    make_queries,
    make_routes,
)
from newsbot.simulator.page_state import History, pack
from newsbot.simulator.plan import MAX_SCALE
from newsbot.simulator.published_figures import comparison_table, summarize_checks
from newsbot.simulator.recorded_world import Recorded, from_pages, from_polls
from newsbot.simulator.requirements import require_memory
from newsbot.simulator.runs import Run, run_robots, run_sensor
from newsbot.simulator.site_world import Generated, SiteSettings, Worlds, read_settings
from newsbot.simulator.strategies import MOST_A_DAY, PushSettings
from newsbot.simulator.strategy_choice import Choice, choose
from newsbot.simulator.visit_figures import UNITS
from newsbot.storage.base import Storage

MAX_WORKERS = 4
"""Maximum number of threads for the plan. More would need too much memory."""
MAX_SEEDS, MAX_SERVERS = 200, 10_000
MAX_SECONDS = 30 * 86_400.0
"""Largest allowed value, in seconds, of the options that are durations."""
BYTES_A_ROW = 24
"""Bytes of memory that one row of a log needs while the log is generated and written."""
SHOWN = (
    "freshness", "age", "median", "mean", "p95", "p99", "lost", "requests", "megabytes", "useful",
    "host_peak",
)  # fmt: skip
"""Figures in the printed table of policies. JSON and the report contain all figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a long action needs in addition to its options."""

    json: bool
    """True if the answer is for a program (``--json``)."""
    progress: Callable[[int, int], None]
    """Called with the number of finished runs and the number of all runs."""
    open_storage: Callable[[], AbstractContextManager[Storage]]
    """Opens the data of the crawler, for ``--from-data``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The output of an action."""

    document: Any
    """The JSON-able output for ``--json``. The other fields are for people."""
    columns: Sequence[tuple[Any, ...]] = ()
    """The columns of the printed table, each as the arguments of :class:`newsbot.cli.terminal.Column`."""
    rows: Sequence[Sequence[object]] = ()
    lines: Sequence[str] = ()
    """Text below the table."""
    note: str = ""
    """One line that is printed to stderr; nothing if empty."""


def experiment(options: Any, session: Session) -> Answer:
    """Run the published plan, compare it with the published figures, and write tables and a report."""
    if options.scale > MAX_SCALE:
        raise ArgumentError(f"--scale {options.scale}: 1 to {MAX_SCALE} are allowed")
    folder = None if session.json and not options.out else Path(options.out or "simulation").expanduser()
    if folder is not None:
        reports.make_folder(folder)

    def progress_of(number: int) -> Callable[[int, int], None]:
        return lambda done, total: session.progress(number * total + done, options.seeds * total)

    began, used = time.monotonic(), time.process_time()
    found = experiments.run_experiment(
        options.scale,
        seed=options.seed,
        seeds=options.seeds,
        frequencies=options.frequencies,
        workers=min(MAX_WORKERS, _processors()),
        progress=progress_of,
    )
    seconds, used = time.monotonic() - began, time.process_time() - used
    judged = options.scale == 1 and options.frequencies == "published"
    if folder is not None:
        seeds = _seeds_text(_seeds(options))
        about = [
            f"54 fields, 7 variants; scale {options.scale}, {seeds}, frequencies {options.frequencies}.",
            "Made by: scrapy simulate experiment. The model is described in docs/simulator.md.",
        ]
        if not judged:
            about.append("Tolerances apply to full scale and the frequencies published only, not here.")
        experiments.write_experiment(folder, found, about, judged=judged)
    return Answer(
        document=experiments.as_document(found),
        columns=(
            ("published figures",),
            ("number", "right"),
            ("within tolerance", "right"),
            ("largest deviation", "right"),
            ("of", "left", True),
        ),
        rows=summarize_checks(comparison_table(found.checks, judged=judged)),
        lines=(
            f"\n{len(found.runs['situation'])} runs in {seconds:.1f} s ({used:.1f} s of processor time)",
            f"tables and report: {folder}; open {folder}/report.html",
        ),
    )


def compare(options: Any, session: Session) -> Answer:
    """Run several policies with the same budget, and return the figures of each."""
    try:
        budget = float(options.budget)
    except ValueError:
        budget = 0.0
    if not comparison.LEAST <= budget <= MOST_A_DAY:
        limits = f"{comparison.LEAST:g} to {MOST_A_DAY:g} visits of a source a day"
        raise ArgumentError(f"--budget {options.budget}: must be {limits}")
    choices, push, settings, seeds = _read(options)
    worlds = _worlds(options, session, settings)
    folder = options.out and options.out.expanduser()
    if folder:
        reports.make_folder(folder)
    progress = _counter(session, len(choices) * len(seeds))
    found = comparison.compare(worlds, choices, budget, seeds, push, progress=progress)
    lines = [f"\n{worlds.about()}; {_seeds_text(seeds)}; budget {budget:g} visits of a source a day"]
    if folder:
        about = (
            f"{worlds.about()}.",
            f"Budget: {budget:g} visits of a source a day; {_seeds_text(seeds)}; ±: half a 95 % interval.",
            (
                f"Push: {push.loss:.1%} of notices lost, {push.notice:g} s to arrive, safety poll each "
                f"{push.safety / 3600:g} h, {push.servers} downloads at one time in push_queue."
            ),
            "Made by: scrapy simulate compare. The figures are described in docs/simulator.md.",
        )
        files.write_tables(folder, comparison.as_tables(found, seeds))
        reports.write_policies_report(folder, about, found)
        lines.append(f"tables and report: {options.out}; open {options.out}/report.html")
    return _policies(comparison.as_document(worlds.about(), found, seeds), found, lines)


def plan(options: Any, session: Session) -> Answer:
    """Find for each policy the smallest budget that meets the targets."""
    targets = comparison.read_targets(options.target)
    choices, push, settings, seeds = _read(options)
    worlds = _worlds(options, session, settings)
    progress = _counter(session, len(choices) * comparison.most_rounds())
    budgets, found = [], []
    for choice in choices:

        def run(a_day: float, choice: Choice = choice) -> comparison.Compared:
            compared = comparison.compare(worlds, [choice], a_day, seeds, push)[0]
            progress()
            return compared

        budget, compared = comparison.smallest_budget(run, targets, budgeted=choice.strategy.budgeted)
        budgets.append(budget)
        found.append(compared)
    document = {
        "target": [target.text for target in targets],
        "policies": [
            {"budget": budget, **comparison.as_document(worlds.about(), [one], seeds)["policies"][0]}
            for budget, one in zip(budgets, found, strict=True)
        ],
        "world": worlds.about(),
        "seeds": seeds,
    }
    lines = [f"\n{worlds.about()}; {_seeds_text(seeds)}; target {options.target}"]
    missed = [one.choice.label for one, budget in zip(found, budgets, strict=True) if budget is None]
    if missed:
        lines.append(f"not met at any budget up to {MOST_A_DAY:g} visits a day: {', '.join(missed)}")
    return _policies(document, found, lines, ["-" if one is None else f"{one:.2f}" for one in budgets])


def pages(options: Any) -> Answer:
    """Write a file of pages with random sizes."""
    count = options.pages
    if count > files.MAX_PAGES:
        raise ArgumentError(f"--pages {count}: at most {files.MAX_PAGES}")
    require_memory(BYTES_A_ROW * count, f"{count:,} pages")
    files.write_pages(options.output, make_pages(count, stream("pages", options.seed, count)))
    return _written(options.output, "pages", count)


def changes(options: Any) -> Answer:
    """Write a random change log for a file of pages."""
    sizes, key = _log_inputs(options, "change")
    log = make_changes(sizes, options.time, options.intensity, FREQUENCIES[options.frequencies], key)
    files.write_changes(options.output, log)
    return _written(options.output, "changes", log.rows)


def queries(options: Any) -> Answer:
    """Write a random query log for a file of pages."""
    sizes, key = _log_inputs(options, "query")
    log = make_queries(len(sizes), options.time, options.intensity, key)
    files.write_queries(options.output, log)
    return _written(options.output, "queries", log.rows)


def routes(options: Any) -> Answer:
    """Write routes that distribute a file of pages among robots."""
    count = len(files.read_pages(options.pages))
    if options.robots > count:
        raise ArgumentError(f"--robots {options.robots}: there are {count} pages")
    files.write_routes(options.output, make_routes(count, options.robots))
    return _written(options.output, "robots", options.robots, "routes")


def robot(options: Any, *, modified: bool = False) -> Answer:
    """Run robots on files of pages, changes and routes, and write the run."""
    history, count = _history(options)
    route = files.read_routes(options.routes, count)
    kind = "modified robot" if modified else "robot"
    run = run_robots(history, route, options.time, stream("run", options.seed, kind), modified=modified)
    return _finish(options.output, f"{route.robots} {kind}{'s' if route.robots > 1 else ''}", run)


def modified(options: Any) -> Answer:
    """Run robots that send HEAD first on files of pages, changes and routes, and write the run."""
    return robot(options, modified=True)


def sensor(options: Any) -> Answer:
    """Run sensors on files of pages, changes and queries, and write the run."""
    history, count = _history(options)
    log = files.read_queries(options.queries, count)
    run = run_sensor(history, log, options.time, stream("run", options.seed, "sensor"))
    return _finish(options.output, "sensors", run)


def merge(options: Any) -> Answer:
    """Join several runs, and write tables and a report into a folder."""
    named = []
    for path in options.runs:
        strategy, run = files.read_run(path)
        named.append((f"{strategy} ({path.stem})", run))
    tables = experiments.merge_runs(named)
    reports.make_folder(options.out)
    files.write_tables(options.out, tables)
    return _report(options.out, tables)


def report(options: Any) -> Answer:
    """Write the report again from the tables in a folder."""
    folder, tables = options.folder, {}
    for name, columns in (
        ("runs", ("situation", "variant", "strategy", "pages", "time", "freshness", "sumsize")),
        ("series", ("situation", "variant", "time", "needfresh", "freshness", "processing")),
        ("traffic", ("situation", "variant", "time", "sumsize")),
        ("comparison", ("group", "figure", "published", "ours", "deviation", "within")),
    ):
        path = folder / f"{name}.parquet"
        if path.exists() or name != "comparison":
            table = files.read_table(path, f"the table {name}", columns, whole=True)
            plain = name in ("runs", "comparison")
            tables[name] = {
                column: values.to_pylist() if plain else values.to_numpy()
                for column, values in zip(table.column_names, table.columns, strict=True)
            }
    if not len(tables["runs"]["situation"]):
        raise UserError(f"{folder}: runs.parquet contains no runs")
    return _report(folder, tables)


def _policies(
    document: Any,
    found: Sequence[comparison.Compared],
    lines: Sequence[str],
    budgets: Sequence[str] | None = None,
) -> Answer:
    titles = [f"{name} {UNITS[name]}" if UNITS[name] in ("%", "min") else name for name in SHOWN]
    rows = [
        [one.choice.label, *budget, *(reports.estimate_text(one.figures[name]) for name in SHOWN)]
        for one, *budget in zip(found, *([budgets] if budgets else []), strict=True)
    ]
    columns = [("policy",), *((title, "right") for title in (["budget"] if budgets else []) + titles)]
    return Answer(document=document, columns=columns, rows=rows, lines=lines)


def _read(options: Any) -> tuple[Sequence[Choice], PushSettings, SiteSettings, list[int]]:
    """Read the options that :func:`compare` and :func:`plan` have in common.

    Returns the policies, the settings of push, the settings of the world, and the seeds.
    """
    for name, most in (("seeds", MAX_SEEDS), ("servers", MAX_SERVERS)):
        if getattr(options, name) > most:
            raise ArgumentError(f"--{name} {getattr(options, name)}: at most {most}")
    settings, choices = read_settings(options.world), choose(options.policies, options.request)
    try:
        loss = float(options.loss.removesuffix("%")) / (100 if options.loss.endswith("%") else 1)
    except ValueError:
        loss = -1.0
    if not 0 <= loss <= 1:
        raise ArgumentError(f"--loss {options.loss}: must be a share such as 5% or 0.05")
    notice, safety = _seconds("notice", options.notice, 0.0), _seconds("safety", options.safety, 300.0)
    push = PushSettings(loss=loss, notice=notice, safety=safety, servers=options.servers)
    return choices, push, settings, _seeds(options)


def _seconds(name: str, text: str, least: float) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ArgumentError(f"--{name} {error}") from error
    if not least <= seconds <= MAX_SECONDS:
        raise ArgumentError(f"--{name} {text}: must be {least:g} seconds to 30 days")
    return seconds


def _seeds(options: Any) -> list[int]:
    return list(range(options.seed, options.seed + options.seeds))


def _seeds_text(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"means over {len(seeds)} seeds from {seeds[0]}"


def _worlds(options: Any, session: Session, settings: SiteSettings) -> Worlds:
    if not options.from_data:
        return Generated(settings)
    with session.open_storage() as storage:
        kinds = {one.url: one.kind for one in storage.sources.all()}
        sources = from_polls(storage.sources.polls(), kinds)
        return Recorded([*sources, *from_pages(storage.pages.iter(kind=Kind.ARTICLE))], settings)


def _counter(session: Session, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))
    return lambda: session.progress(next(done), total)


def _processors() -> int:
    """Return the number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # on Linux only
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _log_inputs(options: Any, what: str) -> tuple[Any, Any]:
    """Return the sizes of pages and the key of the random draws of a log.

    Raises :class:`UserError` if the log would need more memory than is free.
    """
    _check_time(options.time)
    sizes, intensity = files.read_pages(options.pages), options.intensity
    rows = estimate_rows(len(sizes), intensity)
    require_memory(BYTES_A_ROW * rows, f"a {what} log of {rows:,} rows")
    # The key is computed from words, and 5.0 and 5 are different words. The plan uses ints, so a whole number
    # must be an int here. Otherwise the log would differ from the log of the plan.
    plain = int(intensity) if intensity == int(intensity) else intensity
    name = "changes" if what == "change" else "queries"
    return sizes, stream(name, options.seed, len(sizes), options.time, plain)


def _history(options: Any) -> tuple[History, int]:
    _check_time(options.time)
    sizes = files.read_pages(options.pages)
    log = files.read_changes(options.changes, len(sizes))
    return pack(sizes, log, options.time), len(sizes)


def _check_time(length: int) -> None:
    if length > MAX_TIME:
        raise ArgumentError(f"--time {length}: at most {MAX_TIME} units of 100 ms, three years")


def _finish(path: Path, strategy: str, run: Run) -> Answer:
    files.write_run(path, strategy, run)
    figures = {"strategy": strategy, "file": str(path), **experiments.summary([run])}
    lines = [f"{name:<16}{'-' if value is None else value}" for name, value in figures.items()]
    return Answer(document=figures, lines=lines)


def _report(folder: Path, tables: dict[str, Any]) -> Answer:
    about = ["Made by: scrapy simulate report. The model is described in docs/simulator.md."]
    reports.write_runs_report(folder, "Simulated runs", about, tables)
    return _written(folder, "runs", len(tables["runs"]["situation"]))


def _written(place: Path, name: str, count: int, what: str = "") -> Answer:
    note = f"{what or f'{count:,} {name}'} written to {place}"
    return Answer(document={"file": str(place), name: count}, note=note)
