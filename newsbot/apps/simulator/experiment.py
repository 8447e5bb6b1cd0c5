"""Runs the experiment: a plan of 54 situations with seven variants each, for several seeds.

All variants of a situation see the same history. A change log depends on pages, time and change intensity. A
query log depends on pages, time and query intensity. Each log is made once for all runs that need it. Robots
do not use queries, so situations that differ only in queries share their robot runs.

The results are tables, correlations, a ranking, and a check of published figures. The published figures are
in published.json. A deviation from them must be within a tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import groupby, pairwise
from math import sqrt
from operator import itemgetter
from statistics import fmean
from typing import Any

import numpy as np

from newsbot.apps.simulator import model
from newsbot.apps.simulator.model import History, Run, Steps, pack, run_robots, run_sensor

PAGES = (100_000, 200_000, 300_000)
TIMES = {8_640_000: ((1, 5, 10), (1, 50, 100)), 17_280_000: ((2, 10, 20), (2, 100, 200))}
"""Change intensities and query intensities (events per page and run), by length of the run in units."""
FACTORS = ("change", "query", "pages", "time")
MAX_SCALE = 10_000
"""Largest divisor of pages and times. With this divisor, the smallest situation has ten pages."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation of the plan."""

    index: int
    """Number in the publication, from 1."""
    pages: int
    time: int
    """Length in units of 100 ms."""
    change: int
    """Changes per page in this time."""
    query: int
    """Queries per page in this time."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One strategy of the experiment."""

    number: int
    name: str
    robots: int
    modified: bool = False
    """True if robots send HEAD before GET."""


ROBOTS = (
    Variant(1, "1 robot", 1),
    Variant(2, "1 modified robot", 1, modified=True),
    Variant(3, "3 robots", 3),
    Variant(4, "3 modified robots", 3, modified=True),
    Variant(5, "5 robots", 5),
    Variant(6, "5 modified robots", 5, modified=True),
)
SENSORS = 7
VARIANTS = (*ROBOTS, Variant(SENSORS, "sensors", 0))

RUNS = len(PAGES) * sum(len(changes) * len(queries) for changes, queries in TIMES.values()) * len(VARIANTS)
"""Number of runs of the plan."""


@dataclass(slots=True)
class Outcome:
    """All runs of the plan for one seed."""

    seed: int
    situations: Sequence[Situation]
    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    """The runs, by number of the situation and number of the variant."""
    events: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"changes": [], "queries": []})
    """Number of rows of each change log and query log, including rows without effect."""
    volumes: dict[int, int] = field(default_factory=dict)
    """Bytes of all pages at the start, by number of pages."""


def situations(scale: int = 1) -> list[Situation]:
    """Return the plan in the published order. ``scale`` divides pages and time."""
    found = [
        (pages // scale, time // scale, change, query)
        for pages in PAGES
        for time, (changes, queries) in TIMES.items()
        for change in changes
        for query in queries
    ]
    return [Situation(index, *one) for index, one in enumerate(found, 1)]


def memory_needed(plan: Iterable[Situation], workers: int) -> int:
    """Return the bytes of memory that the plan needs.

    The result is the sum of the bytes of all histories and, for each worker, the bytes of a query log with
    its crawls.
    """
    plan = list(plan)
    histories = {(one.pages, one.time, one.change) for one in plan}
    kept = sum(8 * (model.estimate_rows(pages, change) + 2 * pages) for pages, _time, change in histories)
    # 4 bytes for the time of each query, 4 for each unit of time (running downloads), 9 for each change
    largest = max(
        4 * (model.estimate_rows(one.pages, one.query) + one.time)
        + 9 * model.estimate_rows(one.pages, one.change)
        for one in plan
    )
    return kept + workers * largest + 200 * 2**20


def run_plan(scale: int, *, seed: int, frequencies: str, workers: int, progress: model.Ended) -> Outcome:
    """Run all variants in all situations. The result depends on the seed but not on the number of workers.

    ``scale`` divides pages and time. ``workers`` is the number of threads. ``progress`` is called after each
    run. Raises :class:`newsbot.errors.UserError` before the first run if there is not enough memory.
    """
    plan = situations(scale)
    model.require_memory(memory_needed(plan, workers), f"the plan with {workers} workers at once")
    # With these steps, series have about as many rows as the series of a full run.
    steps = Steps(max(1, model.FRESH_STEP // scale), max(1, model.TRAFFIC_STEP // scale))
    work = _Work(Outcome(seed, plan), frequencies, steps, progress)
    executor = ThreadPoolExecutor(workers, thread_name_prefix="simulate")
    try:
        return work.run(executor)
    finally:
        executor.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Work:
    """The tasks of a plan.

    There is one task per change log, with its robots, and one task per query log, with its sensors.
    """

    outcome: Outcome
    frequencies: str
    steps: Steps
    progress: model.Ended

    def run(self, executor: ThreadPoolExecutor) -> Outcome:
        """Run all tasks and return the results."""
        plan = self.outcome.situations
        histories: dict[tuple[int, int, int], Future[History]] = {}
        tasks: list[Future[None]] = []
        # The largest tasks are submitted first, so that no thread has a long task left at the end. The tasks
        # of sensors wait for histories. A deadlock is impossible, because they wait only for tasks that were
        # submitted earlier, and the executor starts tasks in the order of submission.
        for pages, time in sorted({(one.pages, one.time) for one in plan}, reverse=True):
            fields = [one for one in plan if (one.pages, one.time) == (pages, time)]
            for change in sorted({one.change for one in fields}, reverse=True):
                chosen = [one for one in fields if one.change == change]
                histories[pages, time, change] = executor.submit(self._run_robots, chosen)
            for query in sorted({one.query for one in fields}, reverse=True):
                chosen = [one for one in fields if one.query == query]
                needed = [histories[pages, time, one.change] for one in chosen]
                tasks.append(executor.submit(self._run_sensors, chosen, needed))
        for done in tasks:
            done.result()
        for logs in self.outcome.events.values():
            logs.sort(key=lambda log: (log["N"], log["T"], log["intensity"]))
        return self.outcome

    def _run_robots(self, fields: Sequence[Situation]) -> History:
        """Make the change log that these situations share, run all robots on it, and return the history."""
        one, seed = fields[0], self.outcome.seed
        words = (seed, one.pages, one.time, one.change)
        sizes = model.make_pages(one.pages, model.stream("pages", seed, one.pages))
        log = model.make_changes(
            sizes, one.time, one.change, model.FREQUENCIES[self.frequencies], model.stream("changes", *words)
        )
        history = pack(sizes, log, one.time)
        self._count("changes", one, one.change, log.rows)
        self.outcome.volumes[one.pages] = int(sizes.sum())
        del log  # frees memory for more workers, because only the packed history is needed from here on
        for variant in ROBOTS:
            key = model.stream("variant", *words, variant.number)
            routes = model.make_routes(one.pages, variant.robots)
            run = run_robots(history, routes, one.time, key, modified=variant.modified, steps=self.steps)
            self._keep(fields, variant.number, run)
        return history

    def _run_sensors(self, fields: Sequence[Situation], histories: Sequence[Future[History]]) -> None:
        """Make the query log that these situations share, and run sensors on each of their histories."""
        first, seed = fields[0], self.outcome.seed
        key = model.stream("queries", seed, first.pages, first.time, first.query)
        log = model.make_queries(first.pages, first.time, first.query, key)
        self._count("queries", first, first.query, log.rows)
        for one, history in zip(fields, histories, strict=True):
            key = model.stream("variant", seed, one.pages, one.time, one.change, one.query, SENSORS)
            self._keep([one], SENSORS, run_sensor(history.result(), log, one.time, key, steps=self.steps))

    def _count(self, log: str, one: Situation, intensity: int, rows: int) -> None:
        count = {"N": one.pages, "T": one.time, "intensity": intensity, "events": rows}
        self.outcome.events[log].append(count)

    def _keep(self, fields: Sequence[Situation], variant: int, run: Run) -> None:
        for one in fields:
            self.outcome.runs[one.index, variant] = run
            module = "runs.run_sensors" if variant == SENSORS else "runs.run_robot"
            self.progress(module, self.outcome.seed, f"situation {one.index}, variant {variant}")


MB = 2**20
"""Bytes in the "Мб" of the published traffic."""
FIRST_ROWS = (0, 10_000, 20_000, 30_000, 40_000)
"""Times of the rows in table 3.10 of the publication, in units of 100 ms.

In the publication, the labels of the rows are at the wrong rows.
"""
FIRST_FIELDS = (1, 4, 7, 10, 13, 16, 19)
"""Situations of the columns of table 3.10.

The table does not name the situations. We inferred them from the rates of change of its values.
"""
ORDERS = (
    ("freshness of 6 > 4 > 2", "freshness", (6, 4, 2)),
    ("freshness of 5 > 3 > 1", "freshness", (5, 3, 1)),
    ("traffic of 5 > 3 > 1", "sumsize", (5, 3, 1)),
    ("traffic of 6 > 4 > 2", "sumsize", (6, 4, 2)),
    ("traffic of 1 > 2", "sumsize", (1, 2)),
    ("traffic of 3 > 4", "sumsize", (3, 4)),
    ("traffic of 5 > 6", "sumsize", (5, 6)),
)
"""Orders of variants that hold in every situation according to the publication.

Each order has a description, the column of the figure, and the variants from the highest to the lowest
figure.
"""
Published = Mapping[str, Any]
ByVariant = Mapping[tuple[int, int], Mapping[str, Any]]
"""The rows of the table of runs, by situation and variant."""


@dataclass(frozen=True, slots=True)
class Check:
    """A published figure and the figure of this simulator."""

    group: str
    """The table or the kind of figures to which the figure belongs."""
    figure: str
    """A description of the figure."""
    published: float
    ours: float
    deviation: float
    unit: str
    """Unit of the deviation: ``%`` of the published figure, ``points`` of freshness, or empty."""
    tolerance: float | None
    """The largest allowed deviation; None if the figure is not judged."""

    @property
    def within(self) -> bool | None:
        """True if the deviation is within the tolerance; None if there is no tolerance."""
        return None if self.tolerance is None else abs(self.deviation) <= self.tolerance + 1e-9

    def row(self, *, judged: bool) -> dict[str, Any]:
        """Return a row for a table. If ``judged`` is False, it has neither a tolerance nor a verdict."""
        numbers = {name: float(getattr(self, name)) for name in ("published", "ours", "deviation")}
        verdict = {"tolerance": self.tolerance, "within": self.within} if judged else _NOT_JUDGED
        return {"group": self.group, "figure": self.figure, **numbers, "unit": self.unit, **verdict}


_NOT_JUDGED = {"tolerance": None, "within": None}


def compare_with_published(found: Experiment, scale: int) -> list[Check]:
    """Return all published figures with our figures.

    Published counts are divided by ``scale``, the scale of the run.
    """
    published = json.loads(
        files("newsbot.apps.simulator").joinpath("published.json").read_text(encoding="utf-8")
    )
    rows = {(row["situation"], row["variant"]): row for row in found.runs}
    return [
        *_quotes(published, rows, scale),
        *_correlations(published, found.correlations),
        *_processing(published, rows),
        *_orders(rows),
        *_ranking(published, found.ranking),
        *_first_rows(published, found.first, scale),
        *_events(published, found.events, scale),
        *_volumes(published, found.first, scale),
    ]


def summarize_checks(comparison: model.Table) -> list[tuple[object, ...]]:
    """Return a row for each group of figures.

    A row contains the group, the number of its figures, the number of figures within their tolerance, the
    largest deviation, and the figure with this deviation.
    """
    rows: list[tuple[object, ...]] = []
    for group, grouped in groupby(comparison, key=itemgetter("group")):
        found = list(grouped)
        worst = max(found, key=lambda row: abs(row["deviation"]))
        verdicts = [row["within"] for row in found if row["within"] is not None]
        within = f"{sum(verdicts)} of {len(verdicts)}" if verdicts else "-"
        rows.append(
            (group, len(found), within, f"{worst['deviation']:+.3g} {worst['unit']}", worst["figure"])
        )
    return rows


def _difference(
    group: str, what: str, published: float, ours: float, tolerance: float | None, *, unit: str = ""
) -> Check:
    return Check(group, what, published, ours, ours - published, unit, tolerance)


def _percent(group: str, what: str, published: float, ours: float, tolerance: float | None) -> Check:
    return Check(group, what, published, ours, 100 * (ours / published - 1), "%", tolerance)


def _quotes(published: Published, rows: ByVariant, scale: int) -> Iterator[Check]:
    for quote in published["quotes"]:
        variant = quote["variant"]
        situation = 10 if quote["situations"].startswith("10") else 52  # the first situation of its group
        row, name = rows[situation, variant], f"situation {situation}, variant {variant}: "
        megabytes = quote["sumsize_MB"] / scale
        yield _percent("quotes", name + "traffic, MB", megabytes, row["sumsize"] / MB, 1.0)
        yield _difference(
            "quotes", name + "freshness, %", quote["freshness"], row["freshness"], 0.4, unit="points"
        )
        if "cycles" in quote:
            for robot, cycles in enumerate(row["cycles"], 1):
                yield _difference("quotes", f"{name}cycles of robot {robot}", quote["cycles"], cycles, 0)


def _correlations(published: Published, ours: dict[str, Any]) -> Iterator[Check]:
    for figure in ("Sumsize", "Needfresh"):
        for variant, values in published["T4_4_correlations"][figure].items():
            for factor, theirs, found in zip(FACTORS, values, ours[figure][variant], strict=True):
                wide = figure == "Needfresh" or (factor == "change" and variant in "135")
                what = f"{figure} of variant {variant} with {factor}"
                yield _difference("correlations", what, theirs, found, 0.006 if wide else 0.003)


def _processing(published: Published, rows: ByVariant) -> Iterator[Check]:
    """Compare the largest numbers of simultaneous downloads.

    The published table is sorted by time, then by pages, changes and queries. So the simulated table is
    sorted in the same way before the comparison.
    """
    sensors = [row for (_situation, variant), row in rows.items() if variant == SENSORS]
    sensors.sort(key=lambda row: (row["time"], row["pages"], row["change"], row["query"]))
    theirs = list(published["P4_1_maxprocessing_in_document_order"].values())
    ours = [row["max_processing"] for row in sensors]
    for row, most in zip(sensors, theirs, strict=True):
        what = f"situation {row['situation']}"
        yield _difference("MaxProcessing", what, most, row["max_processing"], 3)
    near = 100 * sum(abs(a - b) <= 2 for a, b in zip(ours, theirs, strict=True)) / len(ours)
    yield Check("MaxProcessing", "within 2, % of the situations", 95, near, min(0.0, near - 95), "points", 0)
    yield _difference("MaxProcessing", "sum", sum(theirs), float(sum(ours)), 20)


def _orders(rows: ByVariant) -> Iterator[Check]:
    """Check :data:`ORDERS`.

    The deviation is minus the number of situations in which the order does not hold.
    """
    situations = {situation for situation, _variant in rows}
    for what, column, variants in ORDERS:
        holds = sum(
            all(rows[one, more][column] > rows[one, less][column] for more, less in pairwise(variants))
            for one in situations
        )
        yield _difference("order", f"{what}, situations", len(situations), holds, 0)


def _ranking(published: Published, ranking: Sequence[dict[str, Any]]) -> Iterator[Check]:
    rating = published["T4_5_rating"]
    same = sum(row["order"] == rating["order"] for row in ranking)
    what = f"variants {' '.join(map(str, rating['order']))}, situations"
    yield _difference("ranking", what, rating["rows_found"], same, 0)


def _first_rows(published: Published, outcome: Outcome, scale: int) -> Iterator[Check]:
    for moment, row in zip(FIRST_ROWS, published["T3_10"], strict=True):
        for situation, theirs in zip(FIRST_FIELDS, row["v"], strict=True):
            run = outcome.runs[situation, 1]
            place = min(moment // scale // run.steps.fresh, len(run.stale) - 1)
            ours = 100 * (run.pages - int(run.stale[place])) / run.pages
            what = f"situation {situation}, time {moment}, freshness, %"
            yield _difference("first rows", what, theirs, ours, None, unit="points")


def _events(published: Published, events: dict[str, Any], scale: int) -> Iterator[Check]:
    """Compare the published numbers of events with our numbers.

    Both are random numbers with the expectation (c + 1) N, where c is the intensity and N the number of
    pages. Our number must be within four standard deviations of the expectation.
    """
    for table, name in (("P2_3_changes", "changes"), ("P2_4_queries", "queries")):
        for theirs, ours in zip(published[table], events[name], strict=True):
            # Each page has exactly one row beyond the end of the run. The number of all other rows is random,
            # with the mean c N.
            pages, intensity, rows = ours["N"], ours["intensity"], ours["events"]
            expected, chance = (intensity + 1) * pages, 4 * sqrt(intensity * pages)
            what = f"{name}: {theirs['N']:,} pages, {theirs['T']:,} units, intensity {intensity}"
            deviation, tolerance = 100 * (rows / expected - 1), 100 * chance / expected
            yield Check("events", what, theirs["events"] / scale, rows, deviation, "% of (c+1)N", tolerance)


def _volumes(published: Published, outcome: Outcome, scale: int) -> Iterator[Check]:
    for theirs in published["P2_2_volumes"]:
        what = f"bytes of {theirs['N']:,} pages at the start"
        ours = outcome.volumes[theirs["N"] // scale]
        yield _percent("volumes", what, theirs["bytes"] / scale, ours, None)


MAX_ROBOTS = max(variant.robots for variant in VARIANTS)
IN_JSON = (
    "situation", "variant", "needfresh", "freshness", "mean_freshness", "sumsize", "cycles",
    "min_wait", "max_wait", "mean_wait", "max_processing", "useful",
)  # fmt: skip
"""Columns of the runs in the JSON output."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The results of the plan."""

    runs: model.Table
    correlations: dict[str, Any]
    ranking: list[dict[str, Any]]
    events: dict[str, Any]
    first: Outcome
    """The runs of the first seed. Series are written to files only for these runs."""
    checks: Sequence[Check] = ()


def run_experiment(
    scale: int,
    *,
    seed: int = 1,
    seeds: int = 1,
    frequencies: str = "published",
    workers: int = 1,
    progress: model.Ended = model.ignore,
) -> Experiment:
    """Run the plan for ``seeds`` seeds: ``seed``, ``seed`` + 1, and so on.

    ``scale`` divides pages and time. ``progress`` is called after each run. Raises
    :class:`newsbot.errors.UserError` before the first run if there is not enough memory.
    """
    outcomes = [
        run_plan(scale, seed=one, frequencies=frequencies, workers=workers, progress=progress)
        for one in range(seed, seed + seeds)
    ]
    runs = runs_table(outcomes)
    found = Experiment(runs, correlations(runs), ranking(runs), event_counts(outcomes), outcomes[0])
    return replace(found, checks=compare_with_published(found, scale))


def as_document(found: Experiment) -> dict[str, Any]:
    """Return the JSON-serializable output for ``--json``."""
    return {
        "runs": [{name: row[name] for name in IN_JSON} for row in found.runs],
        "correlations": found.correlations,
        "ranking": found.ranking,
        "event_counts": found.events,
    }


def merge_runs(named: Sequence[tuple[str, Run]]) -> dict[str, Any]:
    """Return the tables of several named runs. Runs with equal pages and time count as one situation."""
    sizes = list(dict.fromkeys((run.pages, run.time) for _name, run in named))
    rows, keyed = [], []
    for variant, (name, run) in enumerate(named, 1):
        situation = sizes.index((run.pages, run.time)) + 1
        keyed.append((situation, variant, run))
        about = {"situation": situation, "variant": variant, "strategy": name}
        rows.append({**about, "pages": run.pages, "time": run.time, **summary([run])})
    return {"runs": rows, "series": series_table(keyed), "traffic": traffic_table(keyed)}


def runs_table(outcomes: Sequence[Outcome]) -> model.Table:
    """Return one row per situation and variant, with the means of the final figures over the seeds."""
    return [
        {
            "situation": one.index,
            "variant": variant.number,
            "strategy": variant.name,
            "pages": one.pages,
            "time": one.time,
            "change": one.change,
            "query": one.query,
            **summary([outcome.runs[one.index, variant.number] for outcome in outcomes]),
        }
        for one in outcomes[0].situations
        for variant in VARIANTS
    ]


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the final figures of a run, or their means over the runs of several seeds."""

    def mean(name: str) -> Any:
        return _mean(getattr(run, name) for run in runs)

    first = ("needfresh", "freshness", "mean_freshness", "sumsize")
    last = ("min_wait", "max_wait", "mean_wait", "max_processing", "waits", "downloads", "useful")
    cycles = [_mean(of_seeds) for of_seeds in zip(*(run.cycles for run in runs), strict=True)]
    return {**{name: mean(name) for name in first}, "cycles": cycles, **{name: mean(name) for name in last}}


def series_table(named: Iterable[tuple[int, int, Run]]) -> model.Columns:
    """Return stale pages, freshness and running downloads over time.

    An item of ``named`` has the number of a situation, the number of a variant, and a run.
    """
    return _joined(
        {
            **_labels(situation, variant, len(run.stale)),
            "time": run.fresh_times(),
            "needfresh": run.stale,
            "freshness": 100.0 * (run.pages - run.stale) / run.pages,
            "processing": np.zeros_like(run.stale) if run.processing is None else run.processing,
        }
        for situation, variant, run in named
    )


def traffic_table(named: Iterable[tuple[int, int, Run]]) -> model.Columns:
    """Return the bytes over time, for all robots together and for each robot.

    If a variant has fewer robots, the columns of the missing robots are 0.
    """
    return _joined(
        {
            **_labels(situation, variant, run.traffic.shape[1]),
            "time": run.traffic_times(),
            "sumsize": run.traffic.sum(axis=0),
            **{
                f"robot{robot + 1}": run.traffic[robot]
                if robot < len(run.cycles)
                else np.zeros_like(run.traffic[0])
                for robot in range(MAX_ROBOTS)
            },
        }
        for situation, variant, run in named
    )


def correlations(runs: model.Table) -> dict[str, Any]:
    """Return, by variant, Pearson's correlations of traffic and stale pages with each factor of the plan.

    Robots do not use queries. As in the publication, their correlation with queries is 0.
    """

    def correlate(variant: int, column: str, factor: str) -> float:
        rows = [row for row in runs if row["variant"] == variant]
        x, y = (np.array([row[name] for row in rows], float) for name in (factor, column))
        if (factor == "query" and variant != SENSORS) or not (x.std() and y.std()):
            return 0.0
        return float(np.corrcoef(x, y)[0, 1])

    return {
        "order": list(FACTORS),
        **{
            column.capitalize(): {
                str(one.number): [correlate(one.number, column, factor) for factor in FACTORS]
                for one in VARIANTS
            }
            for column in ("sumsize", "needfresh")
        },
    }


def ranking(runs: model.Table) -> model.Table:
    """Return the order of the robot variants in each situation: by useful downloads, then by freshness."""
    found: dict[int, list[tuple[float, float, int]]] = {}
    for row in runs:
        if row["variant"] <= len(ROBOTS):
            place = (-row["useful"], -row["freshness"], row["variant"])
            found.setdefault(row["situation"], []).append(place)
    return [
        {"situation": situation, "order": [variant for *_, variant in sorted(places)]}
        for situation, places in found.items()
    ]


def event_counts(outcomes: Sequence[Outcome]) -> dict[str, model.Table]:
    """Return the number of rows of each change log and query log, as means over the seeds.

    Rows beyond the end of the run are counted too, as in the publication.
    """
    return {
        log: [
            {**same[0], "events": _mean(one["events"] for one in same)}
            for same in zip(*(outcome.events[log] for outcome in outcomes), strict=True)
        ]
        for log in ("changes", "queries")
    }


def _mean(values: Iterable[float | None]) -> Any:
    """Return the mean of the values that are not None. A single value is returned unchanged."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return known[0] if len(known) == 1 else fmean(known)


def _labels(situation: int, variant: int, size: int) -> model.Columns:
    return {"situation": np.full(size, situation, np.int32), "variant": np.full(size, variant, np.int32)}


def _joined(parts: Iterable[model.Columns]) -> model.Columns:
    columns = list(parts)
    return {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
