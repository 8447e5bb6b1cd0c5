"""Each benchmark and each program of ``training`` starts. Their figures are measured by hand."""

from __future__ import annotations

import sys

import pytest

from tests import warm
from tests.crawls import ROOT

PROGRAMS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "training")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "ArgumentParser" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_its_help(program: str) -> None:
    done = warm.run([sys.executable, "-m", program.removesuffix(".__main__"), "--help"], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
