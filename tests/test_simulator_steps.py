"""``scrapy simulate``: each step on files, the experiment as a command, and messages for bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from newsbot.apps.simulator import model
from tests.commandline import ROOT, Answer, Place

PAGES, TIME = 40, 5_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class Bench:
    """Files of one small field, and steps on these files."""

    def __init__(self, place: Place) -> None:
        self.place, self.folder = place, place.folder
        self.good("pages", "--pages", str(PAGES), "-o", self["pages"])
        about = ("--pages", self["pages"], "--time", str(TIME))
        self.good("changes", *about, "--intensity", "8", "-o", self["changes"])
        self.good("queries", *about, "--intensity", "30.5", "-o", self["queries"])
        self.good("routes", "--pages", self["pages"], "--robots", "3", "-o", self["routes"])

    def __getitem__(self, name: str) -> str:
        return str(self.folder / f"{name}.parquet")

    def good(self, step: str, *words: str) -> Answer:
        answer = self.place.run("simulate", "--json", step, *words)
        assert answer.code == 0, answer.err
        return answer

    def step(self, step: str, *words: str) -> Answer:
        extra = ("--queries", self["queries"]) if step == "sensor" else ("--routes", self["routes"])
        about = ("--pages", self["pages"], "--changes", self["changes"], "--time", str(TIME))
        return self.place.run("simulate", "--json", step, *about, *extra, "-o", self[step], *words)

    def write(self, name: str, **columns: object) -> None:
        pq.write_table(pa.table(columns), self[name])


@pytest.fixture
def bench(place: Place) -> Bench:
    return Bench(place)


def test_steps_on_files(bench: Bench) -> None:
    robot, modified, sensor = (bench.step(step) for step in ("robot", "modified", "sensor"))
    assert robot.json["strategy"] == "3 robots"
    assert len(modified.json["cycles"]) == 3
    assert sensor.json["max_processing"] >= 1
    assert robot.json["sumsize"] > modified.json["sumsize"]
    out = str(bench.folder / "all")
    runs = [bench[step] for step in ("robot", "modified", "sensor")]
    merged = bench.good("merge", *runs, "--out", out)
    assert merged.json == {"file": out, "runs": 3}
    rows = pq.read_table(Path(out) / "runs.parquet").to_pylist()
    assert [row["strategy"] for row in rows] == [
        "3 robots (robot)", "3 modified robots (modified)", "sensors (sensor)",
    ]  # fmt: skip
    assert rows[2]["freshness"] == sensor.json["freshness"]
    report = Path(out) / "report.html"
    first = report.read_bytes()
    assert first.count(b"<svg") == 3
    report.unlink()
    assert bench.good("report", out).json["runs"] == 3
    assert report.read_bytes() == first


def test_the_same_seed_gives_the_same_bytes(bench: Bench) -> None:
    def made() -> dict[str, bytes]:
        for step in ("robot", "modified", "sensor"):
            assert bench.step(step).code == 0
        return {path.name: path.read_bytes() for path in bench.folder.glob("*.parquet")}

    first = made()
    Bench(bench.place)
    assert made() == first
    about = ("--pages", bench["pages"], "--time", str(TIME), "--intensity", "8", "-o", bench["changes"])
    bench.good("changes", *about, "--seed", "2")
    assert made()["robot.parquet"] != first["robot.parquet"]


def test_readable_output_of_steps(bench: Bench) -> None:
    answer = bench.place.run(
        "simulate", "routes", "--pages", bench["pages"], "--robots", "2", "-o", bench["r"]
    )
    assert answer.err == f"routes written to {bench['r']}\n"
    words = ("--pages", bench["pages"], "--changes", bench["changes"], "--routes", bench["routes"])
    answer = bench.place.run("simulate", "robot", *words, "--time", str(TIME), "-o", bench["robot"])
    assert "freshness" in answer.out


def test_rows_outside_the_time_of_a_recorded_log_are_left_out(bench: Bench) -> None:
    bench.write("pages", page=[1], size=[100])
    bench.write("changes", page=[1, 1], time=[0, TIME + 1], type=[5, 5], size=[200, 300])
    bench.write("routes", robot=[1], page=[1])
    answer = bench.step("modified")
    assert (answer.json["sumsize"], answer.json["freshness"], answer.json["min_wait"]) == (0, 100.0, None)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a missing column": (
        {"page": [1], "time": [5], "type": [5]},
        "column 'size' is missing; a change log has",
    ),
    "a negative time": (
        {"page": [1, 1], "time": [5, -3], "type": [5, 5], "size": [1, 1]},
        "row 2: time -3 is negative",
    ),
    "an unknown type": (
        {"page": [1], "time": [5], "type": [7], "size": [1]},
        "row 1: type is 7; allowed are 1 to 6",
    ),
    "an unknown page": (
        {"page": [PAGES + 1], "time": [5], "type": [5], "size": [1]},
        f"row 1: page is {PAGES + 1}; allowed are 1 to {PAGES}",
    ),
    "unsorted rows": (
        {"page": [1, 1, 1], "time": [5, 9, 8], "type": [5, 5, 5], "size": [1, 1, 1]},
        "row 3: not sorted by page and then by time",
    ),
    "text": ({"page": [1], "time": ["5"], "type": [5], "size": [1]}, "'time' must have whole numbers"),
    "a gap": (
        {"page": [1, None], "time": [5, 6], "type": [5, 5], "size": [1, 1]},
        "'page' must have whole numbers",
    ),
}


@pytest.mark.parametrize("fault", sorted(WRONG))
def test_errors_in_change_logs_are_reported(bench: Bench, fault: str) -> None:
    columns, text = WRONG[fault]
    bench.write("changes", **columns)
    answer = bench.step("robot")
    assert answer.code == 1
    assert answer.err.startswith(f"{bench['changes']}: ")
    assert text in answer.err
    assert answer.err.count("\n") == 1
    assert not Path(bench["robot"]).exists()


def test_errors_in_other_files_are_reported(bench: Bench) -> None:
    bench.write("routes", robot=[1, 2], page=[3, 3])
    assert "page 3 occurs twice" in bench.step("robot").err
    bench.write("routes", robot=[2, 1], page=[3, 4])
    assert "row 2: not sorted by robot" in bench.step("robot").err
    Path(bench["routes"]).write_text("no Parquet")
    assert "is not a Parquet file with routes" in bench.step("robot").err
    Path(bench["routes"]).unlink()
    answer = bench.step("robot")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "cannot be read" in answer.err
    bench.write("pages", page=[1, 3], size=[5, 5])
    assert "row 2: pages must be numbered 1, 2, 3" in bench.step("sensor").err
    answer = bench.place.run("simulate", "merge", bench["queries"], "--out", str(bench.folder / "x"))
    assert "a run has the columns" in answer.err
    assert "cannot be read" in bench.place.run("simulate", "report", str(bench.folder / "y")).err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("experiment", "--scale", "20000"), "--scale 20000: must be 1 to 10000"),
        (("experiment", "--frequencies", "publishd"), "did you mean 'published'"),
        (("experiment", "--seeds", "0"), "not a whole number above 0"),
        (("changes", "--pages", "p", "--time", "5", "--intensity", "0", "-o", "x"), "not a number above 0"),
        (("robots",), "did you mean 'robot'"),
        (("pages", "--pages", str(10**9), "-o", "x"), "at most 100000000"),
    ],
)
def test_wrong_usage(place: Place, words: tuple[str, ...], text: str) -> None:
    answer = place.run("simulate", *words)
    assert (answer.code, answer.out) == (2, "")
    assert text in answer.err
    assert answer.err.count("\n") == 1


def test_an_experiment_too_large_for_memory_is_refused_at_the_start(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "available_memory", lambda: 10**6)
    folder = bench.folder / "full"
    answer = bench.place.run("simulate", "experiment", "--out", str(folder))
    assert answer.code == 1
    assert "GB of memory" in answer.err
    assert list(folder.iterdir()) == []
    about = ("--pages", bench["pages"], "--time", str(TIME), "-o", bench["big"])
    answer = bench.place.run("simulate", "changes", *about, "--intensity", "1e6")
    assert "a change log of" in answer.err


def test_the_available_memory_is_found() -> None:
    assert 10**7 < model.available_memory() < 2**50


def test_experiment_as_a_program(place: Place) -> None:
    folder = place.folder / "out"
    answer = place.program("simulate", "experiment", "--scale", "1000", "--out", str(folder))
    assert (answer.code, answer.err) == (0, "")
    assert "378 runs in" in answer.out
    assert {path.suffix for path in folder.iterdir()} == {".csv", ".parquet", ".html"}
    assert len((folder / "runs.csv").read_text().splitlines()) == 379
    before = set(place.folder.iterdir())
    answer = place.program("simulate", "experiment", "--scale", "1000", "--json", "--frequencies", "printed")
    assert len(answer.json["runs"]) == 378
    assert set(place.folder.iterdir()) == before


def test_a_folder_that_cannot_be_created_is_reported(place: Place) -> None:
    (place.folder / "file").touch()
    answer = place.run("simulate", "experiment", "--scale", "1000", "--out", str(place.folder / "file/x"))
    assert answer.code == 1
    assert "choose another --out" in answer.err


@pytest.mark.parametrize("package", ["numba", "pyarrow"])
def test_a_missing_package_is_reported_in_one_line(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from scrapy.cmdline import execute; execute(['scrapy', 'simulate', 'experiment'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    install = "run: pip install 'newsbot[simulator]'"
    assert done.stderr == f"the simulator needs the package {package}; {install}\n"


def test_compiled_code_need_not_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def refusing(**options: Any) -> Any:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert model.compiled(lambda number: number + 1)(2) == 3
