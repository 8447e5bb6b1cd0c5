"""The whole plan: its runs over several seeds, its tables, its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newsbot.simulator.comparison import Check, compare, comparison_table
from newsbot.simulator.files import write_csv, write_parquet, write_text
from newsbot.simulator.plan import Outcome, Tell, run_plan, scaled_steps, situations
from newsbot.simulator.report import make_report
from newsbot.simulator.tables import (
    Table,
    as_rows,
    as_table,
    correlations,
    correlations_table,
    event_counts,
    named_runs,
    ranking,
    runs_table,
    series_table,
    traffic_table,
)

IN_JSON = (
    "situation", "variant", "needfresh", "freshness", "mean_freshness", "sumsize", "cycles",
    "min_wait", "max_wait", "mean_wait", "max_processing", "useful",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Experiment:
    """What the plan gave."""

    runs: Table
    correlations: dict[str, Any]
    ranking: list[dict[str, Any]]
    events: dict[str, Any]
    checks: list[Check]
    first: Outcome
    """The first seed, whose series are kept."""


def run_experiment(
    scale: int,
    *,
    seed: int = 1,
    seeds: int = 1,
    frequencies: str = "published",
    workers: int = 1,
    tell: Callable[[int], Tell] | None = None,
) -> Experiment:
    """Run the plan for ``seeds`` seeds from ``seed`` on.

    ``tell`` makes of the number of a seed (from 0) what is told of its progress. Raises
    :class:`newsbot.errors.UserError` before it begins if memory cannot hold it.
    """
    plan = situations(scale)
    outcomes = []
    for number in range(seeds):
        outcome = run_plan(
            plan,
            seed=seed + number,
            frequencies=frequencies,
            steps=scaled_steps(scale),
            workers=workers,
            tell=tell(number) if tell else None,
        )
        outcomes.append(outcome)
    runs = runs_table(outcomes)
    correlated, ranked, events = correlations(runs), ranking(runs), event_counts(outcomes)
    checks = compare(outcomes[0], runs, correlated, ranked, events=events, scale=scale)
    return Experiment(runs, correlated, ranked, events, checks, outcomes[0])


def write_experiment(folder: Path, found: Experiment, about: list[str], *, judged: bool) -> None:
    """Write each table as CSV and Parquet, and the report."""
    named = named_runs(found.first)
    most = [row for row in as_rows(found.runs) if row["max_processing"] is not None]
    kept = ("situation", "time", "pages", "change", "query", "max_processing")
    tables = {
        "runs": found.runs,
        "series": series_table(named),
        "traffic": traffic_table(named),
        "correlations": correlations_table(found.correlations),
        "ranking": as_table(
            [
                {"situation": row["situation"], **{f"place{n}": v for n, v in enumerate(row["order"], 1)}}
                for row in found.ranking
            ]
        ),
        "max_processing": as_table([{name: row[name] for name in kept} for row in most]),
        "event_counts": as_table(
            [{"log": log, **row} for log in ("changes", "queries") for row in found.events[log]]
        ),
        "comparison": comparison_table(found.checks, judged=judged),
    }
    write_tables(folder, tables)
    write_text(folder / "report.html", make_report("The experiment of 2005, simulated again", about, tables))


def write_tables(folder: Path, tables: dict[str, Table]) -> None:
    """Write each table as CSV and Parquet."""
    for name, table in tables.items():
        write_parquet(folder / f"{name}.parquet", table)
        write_csv(folder / f"{name}.csv", table)


def as_document(found: Experiment) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "runs": [{name: row[name] for name in IN_JSON} for row in as_rows(found.runs)],
        "correlations": found.correlations,
        "ranking": found.ranking,
        "event_counts": found.events,
    }
