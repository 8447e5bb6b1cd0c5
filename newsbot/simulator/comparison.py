"""Our figures beside the published ones, with deviation and tolerance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from math import sqrt
from typing import Any

from newsbot.simulator.plan import Outcome
from newsbot.simulator.tables import FACTORS, Table

MB = 2**20
"""Bytes in the "Мб" of the published traffic."""
FIRST_ROWS = (0, 10_000, 20_000, 30_000, 40_000)
"""Moments that the rows of table 3.10 match; its printed labels are shifted."""
FIRST_FIELDS = (1, 4, 7, 10, 13, 16, 19)
"""Situations of its columns. The table does not name them; their change rates are those of its values."""


@dataclass(frozen=True, slots=True)
class Check:
    """One published figure and ours."""

    group: str
    what: str
    published: float
    ours: float
    deviation: float
    unit: str
    """Of the deviation: ``%`` of the published figure, ``points`` of freshness, or nothing."""
    tolerance: float | None
    """How far ours may be off; None if nothing was laid down."""

    @property
    def within(self) -> bool | None:
        """True if the deviation is within the tolerance."""
        return None if self.tolerance is None else abs(self.deviation) <= self.tolerance + 1e-9


def load_published() -> dict[str, Any]:
    """Return the published figures."""
    text = files("newsbot.simulator").joinpath("published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def compare(
    outcome: Outcome,
    runs: Table,
    correlations: dict[str, Any],
    ranking: Sequence[dict[str, Any]],
    *,
    events: dict[str, Any],
    scale: int,
) -> list[Check]:
    """Return every published figure that the plan reproduces; sizes and counts are divided by ``scale``."""
    published = load_published()
    by_run = {
        (situation, variant): position
        for position, (situation, variant) in enumerate(zip(runs["situation"], runs["variant"], strict=True))
    }
    return [
        *_quotes(published, runs, by_run, scale),
        *_correlations(published, correlations),
        *_processing(published, runs, by_run),
        *_order(runs, by_run),
        *_ranking(published, ranking),
        *_first_rows(published, outcome, scale),
        *_events(published, events, scale),
        *_volumes(published, outcome, scale),
    ]


def _percent(group: str, what: str, published: float, ours: float, tolerance: float | None) -> Check:
    return Check(group, what, published, ours, 100 * (ours / published - 1), "%", tolerance)


def _points(group: str, what: str, published: float, ours: float, tolerance: float | None) -> Check:
    return Check(group, what, published, ours, ours - published, "points", tolerance)


def _difference(group: str, what: str, published: float, ours: float, tolerance: float | None) -> Check:
    return Check(group, what, published, ours, ours - published, "", tolerance)


def _quotes(
    published: dict[str, Any], runs: Table, by_run: dict[tuple[int, int], int], scale: int
) -> Iterator[Check]:
    for quote in published["quotes"]:
        variant = quote["variant"]
        situation = 10 if quote["situations"].startswith("10") else 52  # the first of those it may mean
        row = by_run[situation, variant]
        name = f"situation {situation}, variant {variant}: "
        yield _percent(
            "quotes", name + "traffic, MB", quote["sumsize_MB"] / scale, runs["sumsize"][row] / MB, 1.0
        )
        yield _points("quotes", name + "freshness, %", quote["freshness"], runs["freshness"][row], 0.4)
        if "cycles" in quote:
            for robot, cycles in enumerate(runs["cycles"][row], 1):
                yield _difference("quotes", f"{name}cycles of robot {robot}", quote["cycles"], cycles, 0)


def _correlations(published: dict[str, Any], ours: dict[str, Any]) -> Iterator[Check]:
    for figure in ("Sumsize", "Needfresh"):
        for variant, values in published["T4_4_correlations"][figure].items():
            for factor, theirs, found in zip(FACTORS, values, ours[figure][variant], strict=True):
                wide = figure == "Needfresh" or (factor == "change" and variant in "135")
                what = f"{figure} of variant {variant} with {factor}"
                yield _difference("correlations", what, theirs, found, 0.006 if wide else 0.003)


def _processing(
    published: dict[str, Any], runs: Table, by_run: dict[tuple[int, int], int]
) -> Iterator[Check]:
    """The published table is ordered by time first, then pages, changes, queries."""
    keys = {
        index: tuple(runs[name][row] for name in ("time", "pages", "change", "query"))
        for (index, variant), row in by_run.items()
        if variant == 7
    }
    theirs = published["P4_1_maxprocessing_in_document_order"].values()
    deviations, total = [], 0.0
    for index, most in zip(sorted(keys, key=keys.__getitem__), theirs, strict=True):
        ours = runs["max_processing"][by_run[index, 7]]
        deviations.append(abs(ours - most))
        total += ours
        yield _difference("MaxProcessing", f"situation {index}", most, ours, 3)
    near = 100 * sum(one <= 2 for one in deviations) / len(deviations)
    yield Check("MaxProcessing", "within 2, % of the situations", 95, near, min(0.0, near - 95), "points", 0)
    yield _difference("MaxProcessing", "sum", sum(theirs), total, 20)


def _order(runs: Table, by_run: dict[tuple[int, int], int]) -> Iterator[Check]:
    """What was found in every situation; deviations are situations in which it does not hold."""
    claims = (
        ("freshness of 6 > 4 > 2", "freshness", (6, 4, 2)),
        ("freshness of 5 > 3 > 1", "freshness", (5, 3, 1)),
        ("traffic of 5 > 3 > 1", "sumsize", (5, 3, 1)),
        ("traffic of 6 > 4 > 2", "sumsize", (6, 4, 2)),
        ("traffic of 1 > 2", "sumsize", (1, 2)),
        ("traffic of 3 > 4", "sumsize", (3, 4)),
        ("traffic of 5 > 6", "sumsize", (5, 6)),
    )
    indexes = sorted({index for index, _variant in by_run})
    for what, column, variants in claims:
        holds = 0
        for index in indexes:
            values = [runs[column][by_run[index, variant]] for variant in variants]
            holds += all(more > less for more, less in pairwise(values))
        yield _difference("order", f"{what}, situations", len(indexes), holds, 0)


def _ranking(published: dict[str, Any], ranking: Sequence[dict[str, Any]]) -> Iterator[Check]:
    rating = published["T4_5_rating"]
    same = sum(row["order"] == rating["order"] for row in ranking)
    what = f"variants {' '.join(map(str, rating['order']))}, situations"
    yield _difference("ranking", what, rating["rows_found"], same, 0)


def _first_rows(published: dict[str, Any], outcome: Outcome, scale: int) -> Iterator[Check]:
    for moment, row in zip(FIRST_ROWS, published["T3_10"], strict=True):
        for situation, theirs in zip(FIRST_FIELDS, row["v"], strict=True):
            run = outcome.runs[situation, 1]
            place = min(moment // scale // run.steps.fresh, len(run.stale) - 1)
            ours = 100 * (run.pages - int(run.stale[place])) / run.pages
            yield _points(
                "first rows", f"situation {situation}, time {moment}, freshness, %", theirs, ours, None
            )


def _events(published: dict[str, Any], events: dict[str, Any], scale: int) -> Iterator[Check]:
    """The tolerance is that of chance around the expectation (c + 1) N, which both meet."""
    for table, name in (("P2_3_changes", "changes"), ("P2_4_queries", "queries")):
        for theirs, ours in zip(published[table], events[name], strict=True):
            pages, intensity = ours["N"], ours["intensity"]
            expected = (intensity + 1) * pages
            what = f"{name}: {theirs['N']:,} pages, {theirs['T']:,} units, intensity {intensity}"
            chance = 4 * sqrt(intensity * pages)
            yield Check(
                "events",
                what,
                theirs["events"] / scale,
                ours["events"],
                100 * (ours["events"] / expected - 1),
                "% of (c+1)N",
                100 * chance / expected,
            )


def _volumes(published: dict[str, Any], outcome: Outcome, scale: int) -> Iterator[Check]:
    for theirs in published["P2_2_volumes"]:
        ours = outcome.volumes[theirs["N"] // scale]
        what = f"bytes of {theirs['N']:,} pages at the start"
        yield _percent("volumes", what, theirs["bytes"] / scale, ours, None)


def comparison_table(checks: Sequence[Check], *, judged: bool) -> Table:
    """Return the checks as a table. ``judged`` is False where the tolerances were not laid down for."""
    return {
        "group": [check.group for check in checks],
        "figure": [check.what for check in checks],
        "published": [float(check.published) for check in checks],
        "ours": [float(check.ours) for check in checks],
        "deviation": [float(check.deviation) for check in checks],
        "unit": [check.unit for check in checks],
        "tolerance": [check.tolerance if judged else None for check in checks],
        "within": [check.within if judged else None for check in checks],
    }
