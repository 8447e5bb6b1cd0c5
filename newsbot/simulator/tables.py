"""What the plan gave, as tables: a table is a mapping of column names to columns of equal length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from newsbot.simulator.plan import ROBOTS, SENSORS, VARIANTS, LogCount, Outcome
from newsbot.simulator.runs import Run

Table = dict[str, Any]
FACTORS = ("change", "query", "pages", "time")
MAX_ROBOTS = max(variant.robots for variant in VARIANTS)


def runs_table(outcomes: Sequence[Outcome]) -> Table:
    """Return one row a situation and variant: means over the seeds of what holds at the end of a run."""
    rows = [
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
    return as_table(rows)


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of a run, or their means over the runs of several seeds."""
    return {
        "needfresh": _mean(run.needfresh for run in runs),
        "freshness": _mean(run.freshness for run in runs),
        "mean_freshness": _mean(run.mean_freshness for run in runs),
        "sumsize": _mean(run.sumsize for run in runs),
        "cycles": [_mean(of_seeds) for of_seeds in zip(*(run.cycles for run in runs), strict=True)],
        "min_wait": _mean(run.min_wait for run in runs),
        "max_wait": _mean(run.max_wait for run in runs),
        "mean_wait": _mean(run.mean_wait for run in runs),
        "max_processing": _mean(run.max_processing for run in runs),
        "waits": _mean(run.waits for run in runs),
        "downloads": _mean(run.downloads for run in runs),
        "useful": _mean(run.useful for run in runs),
    }


def series_table(named: Iterable[tuple[int, int, Run]]) -> Table:
    """Return stale pages, freshness and running downloads over time; runs with situation and variant."""
    parts: list[Table] = []
    for situation, variant, run in named:
        size = len(run.stale)
        parts.append(
            {
                "situation": np.full(size, situation, np.int32),
                "variant": np.full(size, variant, np.int32),
                "time": run.fresh_times(),
                "needfresh": run.stale,
                "freshness": 100.0 * (run.pages - run.stale) / run.pages,
                "processing": np.zeros(size, np.int64) if run.processing is None else run.processing,
            }
        )
    return _joined(parts)


def traffic_table(named: Iterable[tuple[int, int, Run]]) -> Table:
    """Return bytes over time, of all and of each robot; 0 for robots that a variant has not."""
    parts: list[Table] = []
    for situation, variant, run in named:
        size = run.traffic.shape[1]
        part: Table = {
            "situation": np.full(size, situation, np.int32),
            "variant": np.full(size, variant, np.int32),
            "time": run.traffic_times(),
            "sumsize": run.traffic.sum(axis=0),
        }
        for robot in range(MAX_ROBOTS):
            has = robot < len(run.cycles)
            part[f"robot{robot + 1}"] = run.traffic[robot] if has else np.zeros(size, np.int64)
        parts.append(part)
    return _joined(parts)


def named_runs(outcome: Outcome) -> list[tuple[int, int, Run]]:
    """Return all runs of a seed with situation and variant, in the order of the plan."""
    return [(*key, outcome.runs[key]) for key in sorted(outcome.runs)]


def correlations(runs: Table) -> dict[str, Any]:
    """Return Pearson's correlation of traffic and stale pages with each factor of the plan, by variant.

    Robots do not look at queries: their entry is 0, as it was published.
    """
    found: dict[str, Any] = {"order": list(FACTORS)}
    variants = np.array(runs["variant"])
    for title, column in (("Sumsize", "sumsize"), ("Needfresh", "needfresh")):
        found[title] = {}
        for variant in VARIANTS:
            rows = variants == variant.number
            values = np.array(runs[column], float)[rows]
            found[title][str(variant.number)] = [
                0.0
                if factor == "query" and variant.number != SENSORS
                else _correlation(np.array(runs[factor], float)[rows], values)
                for factor in FACTORS
            ]
    return found


def correlations_table(found: dict[str, Any]) -> Table:
    """Return :func:`correlations` as a table."""
    return as_table(
        [
            {"figure": figure, "variant": int(variant), **dict(zip(FACTORS, values, strict=True))}
            for figure in ("Sumsize", "Needfresh")
            for variant, values in found[figure].items()
        ]
    )


def ranking(runs: Table) -> list[dict[str, Any]]:
    """Return, for each situation, the robot variants by share of useful downloads, then freshness."""
    by_situation: dict[int, list[tuple[float, float, int]]] = {}
    robots = {variant.number for variant in ROBOTS}
    for situation, variant, useful, freshness in zip(
        runs["situation"], runs["variant"], runs["useful"], runs["freshness"], strict=True
    ):
        if variant in robots:
            by_situation.setdefault(situation, []).append((-useful, -freshness, variant))
    return [
        {"situation": situation, "order": [variant for *_, variant in sorted(found)]}
        for situation, found in by_situation.items()
    ]


def event_counts(outcomes: Sequence[Outcome]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each change and query log, those that never happen too; means over the seeds."""
    return {
        "changes": _counts(outcomes, lambda outcome: outcome.changes),
        "queries": _counts(outcomes, lambda outcome: outcome.queries),
    }


def as_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return rows with the same keys as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def as_rows(table: Table) -> list[dict[str, Any]]:
    """Return columns as rows."""
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def _counts(outcomes: Sequence[Outcome], logs: Callable[[Outcome], list[LogCount]]) -> list[dict[str, Any]]:
    return [
        {
            "N": same[0].pages,
            "T": same[0].time,
            "intensity": same[0].intensity,
            "events": _mean(log.events for log in same),
        }
        for same in zip(*(logs(outcome) for outcome in outcomes), strict=True)
    ]


def _mean(values: Iterable[float | None]) -> Any:
    """Return the mean of what is known; one value stays as it is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return known[0] if len(known) == 1 else fmean(known)


def _correlation(factor: Any, values: Any) -> float:
    if not (factor.std() and values.std()):  # nothing varies: there is nothing to correlate
        return 0.0
    return float(np.corrcoef(factor, values)[0, 1])


def _joined(parts: Sequence[Table]) -> Table:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
