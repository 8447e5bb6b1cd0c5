"""docs/simulator.md: its commands and its Python run as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.commandline import ROOT, Place

TEXT = (ROOT / "docs/simulator.md").read_text(encoding="utf-8")


def test_the_steps_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    scrapy simulate ((?!experiment).+)$", TEXT, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        answer = place.run("simulate", *shlex.split(command))
        assert answer.code == 0, answer.err
    assert (tmp_path / "compared/report.html").exists()


def test_the_python_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    sharing, running = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(sharing, "docs/simulator.md", "exec"), {})
    shown = [line.rsplit("] ", 1) for line in capsys.readouterr().out.splitlines()]
    assert shown[2][0] == "freshest [1.15 1.36 1.35 1.14 0.  "
    assert float(shown[1][1].split()[0]) < float(shown[0][1].split()[0]) < float(shown[2][1].split()[0])
    exec(compile(running, "docs/simulator.md", "exec"), {})
    assert re.fullmatch(r"\d+\.\d % fresh, [\d,]+ bytes, \(\d+, \d+, \d+\) cycles\n", capsys.readouterr().out)


def test_each_table_is_described(tmp_path: Path) -> None:
    Place(tmp_path).run("simulate", "experiment", "--scale", "2000", "--out", str(tmp_path / "out"))
    names = {path.stem for path in (tmp_path / "out").glob("*.csv")}
    assert names == set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
