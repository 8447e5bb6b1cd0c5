"""The soak benchmark reports memory and exits correctly. Releases are judged by its figures."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from benchmarks.soaklives import Life, course, exit_word, growth


@pytest.fixture
def life(tmp_path: Path) -> Life:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Life("worker", 1, process, tmp_path / "worker-1.log", 0.0)


def grows(life: Life, megabytes_an_hour: float, *, filling: float = 0.0) -> float:
    """Simulate an hour: memory fills to 100 MB in the first third, then grows, with noise and peaks."""
    chance = random.Random(1)
    for moment in range(0, 3600, 5):
        size = 100 - filling * max(0, 1200 - moment) / 1200 + megabytes_an_hour * moment / 3600
        peak = 60 if moment % 500 == 0 else 0
        life.memory.append((float(moment), size + chance.uniform(-1, 1) + peak))
    return growth(life, 0.0, 3600.0)["growth"]


def test_constant_memory_is_constant_despite_warm_up_and_peaks(life: Life) -> None:
    assert grows(life, 0.0, filling=60) == pytest.approx(1, abs=0.005)


def test_a_leak_is_measured_from_the_warm_up_to_the_end(life: Life) -> None:
    assert grows(life, 15.0) == pytest.approx((100 + 15) / (100 + 15 / 3), rel=0.01)


def test_a_restarted_process_is_judged_by_its_own_run_time(life: Life) -> None:
    life.began, life.ended = 3000.0, 3400.0
    life.memory = [(3000.0 + second, 50 + second / 100) for second in range(0, 400, 5)]
    assert growth(life, 0.0, 3600.0) == {}  # too short for a result
    life.began, life.ended = 1000.0, None
    life.memory = [(1000.0 + second, 50 + second / 100) for second in range(0, 2500, 5)]
    found = growth(life, 0.0, 3600.0)
    assert found["MB after warm-up"] == pytest.approx(50 + 2500 / 3 / 100, rel=0.01)
    assert found["MB at the end"] == pytest.approx(76, rel=0.01)
    assert course(life, 0.0, 3600.0, 3)[0] < course(life, 0.0, 3600.0, 3)[2]


def test_an_exit_is_reported_with_its_code_its_reason_and_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "worker-3.log"
    log.write_text("first\nINFO: Closing spider (data_unavailable)\n" + "line\n" * 30 + "last words\n")
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    process.wait()
    life = Life("worker", 3, process, log, time.monotonic() - 70)
    assert not life.check(time.monotonic())
    assert life.by_itself
    report = life.end()
    assert "worker 3: after 70 s, exit code 3, INFO: Closing spider (data_unavailable)" in report
    assert report.endswith("last words")
    assert "first" not in report
    assert exit_word(-11) == "SIGSEGV that the benchmark did not send"


def test_a_process_killed_by_the_benchmark_did_not_end_by_itself(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()  # the process has started
    life = Life("worker", 1, process, tmp_path / "log", time.monotonic())
    assert life.check(time.monotonic())
    assert life.memory[0][1] > 1
    life.kill()
    process.stdin.close()
    process.stdout.close()
    assert life.ended is not None
    assert not life.by_itself
