"""docs/simulator.md: its commands and its Python code run as written."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from newsbot.apps.simulator.site_world import UNITS, SiteSettings
from newsbot.apps.simulator.strategies import STRATEGIES
from tests.commandline import ROOT, Place

TEXT = (ROOT / "docs/simulator.md").read_text(encoding="utf-8")


TABLES = TEXT.partition("## Results")[2].partition("\n## ")[0]
SMALL = ("--world", "feeds=12,sections=3,days=4,learn=1,hosts=3", "--seeds", "1")


def test_the_steps_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    newsbot simulate ((?!experiment|compare|plan).+)$", TEXT, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        answer = place.run("simulate", *shlex.split(command))
        assert answer.code == 0, answer.err
    assert (tmp_path / "compared/report.html").exists()


def test_the_python_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    _policy, sharing = python_of_docs()
    exec(compile(sharing, "docs/simulator.md", "exec"), {})
    shown = [line.rsplit("] ", 1) for line in capsys.readouterr().out.splitlines()]
    assert shown[2][0] == "freshest [1.15 1.36 1.35 1.14 0.  "
    assert float(shown[1][1].split()[0]) < float(shown[0][1].split()[0]) < float(shown[2][1].split()[0])


def test_each_table_is_described(tmp_path: Path) -> None:
    Place(tmp_path).run("simulate", "experiment", "--scale", "2000", "--out", str(tmp_path / "out"))
    names = {path.stem for path in (tmp_path / "out").glob("*.csv")}
    assert names == set(re.findall(r"^- `(\w+)`: ", TABLES, re.MULTILINE))


def python_of_docs() -> list[str]:
    return re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_documented_policy_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class in the docs meets its budget, and finds items sooner than equal intervals."""
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    source = python_of_docs()[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= 22
    Path("lately.py").write_text(source, encoding="utf-8")
    command = re.search(r"^    newsbot simulate (compare .*lately\.py)$", TEXT, re.MULTILINE)
    assert command is not None
    words = (*shlex.split(command[1].replace("newsbot", "cyclic")), "--world", "feeds=100,sections=0")
    answer = place.run("simulate", "--json", *words, "--seeds", "2")
    assert answer.code == 0, answer.err
    cyclic, own = (one["figures"] for one in answer.json["policies"])
    assert own["visits"]["mean"] == pytest.approx(12, rel=0.07)
    assert own["mean"]["mean"] < 0.8 * cyclic["mean"]["mean"]


def test_compare_and_plan_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    newsbot simulate ((?:compare|plan) (?!.*lately).+)$", TEXT, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        answer = place.run("simulate", *shlex.split(command), *SMALL)
        assert answer.code == 0, answer.err
    assert (tmp_path / "compared/report.html").exists()


def test_policies_figures_and_keys_are_described() -> None:
    for name, about in [(one.name, one.about) for one in STRATEGIES.values()]:
        assert f"- `{name}`: {about}\n" in TEXT
    for one in fields(SiteSettings):
        assert f"- `{one.name}={one.default:g}`: {one.metadata['about']}\n" in TEXT
    described = TEXT.partition("The figures are:\n\n")[2].partition("\n\n")[0]
    assert set(UNITS) <= set(re.findall(r"`(\w+)`", described))
