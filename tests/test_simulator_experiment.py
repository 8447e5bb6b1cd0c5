"""The complete plan at a twentieth of its size: the published results are reproduced within random error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from newsbot.apps.simulator.experiment import Check, Experiment, as_document, run_experiment, situations
from newsbot.apps.simulator.files import write_experiment

SCALE = 20


@pytest.fixture(scope="module")
def found() -> Experiment:
    return run_experiment(SCALE, workers=2)


def test_situations_are_numbered_as_published() -> None:
    plan = situations()
    assert [one.index for one in plan] == list(range(1, 55))
    tenth, last = plan[9], plan[53]
    assert (tenth.pages, tenth.time, tenth.change, tenth.query) == (100_000, 17_280_000, 2, 2)
    assert (last.pages, last.time, last.change, last.query) == (300_000, 17_280_000, 20, 200)


def checks(found: Experiment, group: str) -> list[Check]:
    return [check for check in found.checks if check.group == group]


def test_traffic_freshness_and_cycles_of_the_quotes(found: Experiment) -> None:
    limits = {"%": 2.5, "points": 1.5, "": 1}
    for check in checks(found, "quotes"):
        assert abs(check.deviation) <= limits[check.unit], check


def test_correlations(found: Experiment) -> None:
    for check in checks(found, "correlations"):
        assert abs(check.deviation) < 0.02, check


@pytest.mark.parametrize("group", ["order", "ranking", "events"])
def test_results_that_do_not_depend_on_the_scale(found: Experiment, group: str) -> None:
    assert checks(found, group)
    for check in checks(found, group):
        assert check.within, check


def test_sensors_need_slightly_fewer_downloads(found: Experiment) -> None:
    single = [check for check in checks(found, "MaxProcessing") if check.figure.startswith("situation")]
    assert len(single) == 54
    assert sum(check.published for check in single) == 432
    assert 280 < sum(check.ours for check in single) < 432


def test_robots_do_not_depend_on_queries(found: Experiment) -> None:
    assert found.first.runs[10, 3] is found.first.runs[11, 3]
    assert len({id(run) for run in found.first.runs.values()}) == 162


def test_the_document_has_all_runs(found: Experiment) -> None:
    document = as_document(found)
    assert sorted(document) == ["correlations", "event_counts", "ranking", "runs"]
    assert len(document["runs"]) == 378
    assert document["runs"][6]["cycles"] == []
    assert document["ranking"][0] == {"situation": 1, "order": [6, 4, 2, 1, 3, 5]}


@pytest.fixture(scope="module")
def small() -> Experiment:
    """The plan at a size at which only the form of its results matters."""
    return run_experiment(1_000, seed=7, workers=1)


@pytest.fixture(scope="module")
def written(small: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_experiment(folder, small, ["about"], judged=False)
    return folder


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_workers(written: Path, tmp_path: Path) -> None:
    write_experiment(tmp_path, run_experiment(1_000, seed=7, workers=2), ["about"], judged=False)
    files = {path.name: path.read_bytes() for path in written.iterdir()}
    assert files == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 17


def test_the_series_end_before_and_after_the_last_instant(small: Experiment, written: Path) -> None:
    series = pq.read_table(written / "series.parquet").to_pylist()
    rows = [row for row in series if (row["situation"], row["variant"]) == (54, 7)]
    assert [row["time"] for row in rows[-3:]] == [17_275, 17_280, 17_280]
    run = next(row for row in small.runs if (row["situation"], row["variant"]) == (54, 7))
    assert rows[-1]["needfresh"] == run["needfresh"]
    html = (written / "report.html").read_text()
    assert html.count("<svg") == 13
    assert "nan" not in html
    assert "src=" not in html
    assert re.findall(r'href="(?!#)', html) == []


def test_means_over_seeds(tmp_path: Path) -> None:
    both = run_experiment(1_000, seeds=2, workers=2)
    alone = [run_experiment(1_000, seed=seed) for seed in (1, 2)]
    for row, *singles in zip(both.runs, *(one.runs for one in alone), strict=True):
        for name in ("needfresh", "sumsize", "max_processing"):
            assert row[name] == mean(name, singles)
        if row["cycles"]:
            assert row["cycles"][0] == sum(single["cycles"][0] for single in singles) / 2


def mean(name: str, rows: list[dict[str, Any]]) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) / len(values) if values else None
