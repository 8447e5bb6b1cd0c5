"""Runs the whole experiment: the plan for several seeds, with its tables, correlations and ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from newsbot.simulator.files import Table, as_rows, as_table, write_tables
from newsbot.simulator.plan import (
    FACTORS,
    ROBOTS,
    SENSORS,
    VARIANTS,
    Outcome,
    Progress,
    run_plan,
    scaled_steps,
    situations,
)
from newsbot.simulator.published_figures import Check, compare, comparison_table
from newsbot.simulator.report import write_runs_report
from newsbot.simulator.runs import Run

MAX_ROBOTS = max(variant.robots for variant in VARIANTS)
IN_JSON = (
    "situation", "variant", "needfresh", "freshness", "mean_freshness", "sumsize", "cycles",
    "min_wait", "max_wait", "mean_wait", "max_processing", "useful",
)  # fmt: skip
"""Columns of the runs in the JSON output."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The results of the plan."""

    runs: Table
    correlations: dict[str, Any]
    ranking: list[dict[str, Any]]
    events: dict[str, Any]
    checks: list[Check]
    first: Outcome
    """The runs of the first seed. Only their series are written to files, not the series of other seeds."""


def run_experiment(
    scale: int,
    *,
    seed: int = 1,
    seeds: int = 1,
    frequencies: str = "published",
    workers: int = 1,
    progress: Callable[[int], Progress] | None = None,
) -> Experiment:
    """Run the plan for ``seeds`` seeds: ``seed``, ``seed`` + 1, and so on.

    ``scale`` divides pages and time. ``progress`` is called with the number of a seed (from 0) and returns
    the function to which the progress of this seed is reported. Raises :class:`newsbot.errors.UserError`
    before the first run if there is not enough memory.
    """
    plan, steps = situations(scale), scaled_steps(scale)
    outcomes = [
        run_plan(
            plan,
            seed=seed + number,
            frequencies=frequencies,
            steps=steps,
            workers=workers,
            progress=progress(number) if progress else None,
        )
        for number in range(seeds)
    ]
    runs = runs_table(outcomes)
    correlated, ranked, events = correlations(runs), ranking(runs), event_counts(outcomes)
    checks = compare(outcomes[0], runs, correlated, ranked, events=events, scale=scale)
    return Experiment(runs, correlated, ranked, events, checks, outcomes[0])


def write_experiment(folder: Path, found: Experiment, about: list[str], *, judged: bool) -> None:
    """Write the tables (each as CSV and Parquet) and the report. The report begins with the lines ``about``.

    With ``judged`` False, the table of comparison has no tolerances.
    """
    named = [(*key, found.first.runs[key]) for key in sorted(found.first.runs)]
    most = [row for row in as_rows(found.runs) if row["max_processing"] is not None]
    kept = ("situation", "time", "pages", "change", "query", "max_processing")
    tables = {
        "runs": found.runs,
        "series": series_table(named),
        "traffic": traffic_table(named),
        "correlations": as_table(
            [
                {"figure": figure, "variant": int(variant), **dict(zip(FACTORS, values, strict=True))}
                for figure in ("Sumsize", "Needfresh")
                for variant, values in found.correlations[figure].items()
            ]
        ),
        "ranking": as_table(
            [
                {"situation": row["situation"], **{f"place{n}": v for n, v in enumerate(row["order"], 1)}}
                for row in found.ranking
            ]
        ),
        "max_processing": as_table([{name: row[name] for name in kept} for row in most]),
        "event_counts": as_table([{"log": log, **row} for log, rows in found.events.items() for row in rows]),
        "comparison": comparison_table(found.checks, judged=judged),
    }
    write_tables(folder, tables)
    write_runs_report(folder, "The experiment of 2005, simulated again", about, tables)


def as_document(found: Experiment) -> dict[str, Any]:
    """Return the JSON-able output for ``--json``."""
    return {
        "runs": [{name: row[name] for name in IN_JSON} for row in as_rows(found.runs)],
        "correlations": found.correlations,
        "ranking": found.ranking,
        "event_counts": found.events,
    }


def merge_runs(named: Sequence[tuple[str, Run]]) -> dict[str, Table]:
    """Return the tables of several named runs. Runs with equal pages and time count as one situation."""
    sizes = list(dict.fromkeys((run.pages, run.time) for _name, run in named))
    rows, keyed = [], []
    for variant, (name, run) in enumerate(named, 1):
        situation = sizes.index((run.pages, run.time)) + 1
        keyed.append((situation, variant, run))
        about = {"situation": situation, "variant": variant, "strategy": name}
        rows.append({**about, "pages": run.pages, "time": run.time, **summary([run])})
    return {"runs": as_table(rows), "series": series_table(keyed), "traffic": traffic_table(keyed)}


def runs_table(outcomes: Sequence[Outcome]) -> Table:
    """Return one row per situation and variant, with the means of the final figures over the seeds."""
    return as_table(
        [
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
    )


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the final figures of a run, or their means over the runs of several seeds."""

    def mean(name: str) -> Any:
        return _mean(getattr(run, name) for run in runs)

    first = ("needfresh", "freshness", "mean_freshness", "sumsize")
    last = ("min_wait", "max_wait", "mean_wait", "max_processing", "waits", "downloads", "useful")
    cycles = [_mean(of_seeds) for of_seeds in zip(*(run.cycles for run in runs), strict=True)]
    return {**{name: mean(name) for name in first}, "cycles": cycles, **{name: mean(name) for name in last}}


def series_table(named: Iterable[tuple[int, int, Run]]) -> Table:
    """Return stale pages, freshness and running downloads over time.

    ``named`` has a situation, a variant and a run.
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


def traffic_table(named: Iterable[tuple[int, int, Run]]) -> Table:
    """Return the bytes over time, of all robots together and of each robot.

    A robot that a variant does not have gets 0.
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


def correlations(runs: Table) -> dict[str, Any]:
    """Return Pearson's correlations of traffic and stale pages with each factor of the plan, by variant.

    Robots do not use queries, so their correlation with queries is 0, as in the publication.
    """
    variants = np.array(runs["variant"])

    def correlate(variant: int, column: str, factor: str) -> float:
        x, y = (np.array(runs[name], float)[variants == variant] for name in (factor, column))
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


def ranking(runs: Table) -> list[dict[str, Any]]:
    """Return for each situation the robot variants, ordered by share of useful downloads, then freshness."""
    found: dict[int, list[tuple[float, float, int]]] = {}
    for row in as_rows(runs):
        if row["variant"] <= len(ROBOTS):
            place = (-row["useful"], -row["freshness"], row["variant"])
            found.setdefault(row["situation"], []).append(place)
    return [
        {"situation": situation, "order": [variant for *_, variant in sorted(places)]}
        for situation, places in found.items()
    ]


def event_counts(outcomes: Sequence[Outcome]) -> dict[str, list[dict[str, Any]]]:
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
    """Return the mean of the values that are not None. A single value stays an int if it is one."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return known[0] if len(known) == 1 else fmean(known)


def _labels(situation: int, variant: int, size: int) -> Table:
    return {"situation": np.full(size, situation, np.int32), "variant": np.full(size, variant, np.int32)}


def _joined(parts: Iterable[Table]) -> Table:
    columns = list(parts)
    return {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
