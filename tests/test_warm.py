"""Programs with a warm start behave like programs with a cold start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests import warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all programs start cold")

PROGRAM = """
import json, os, random, sys
sys.stderr.write("ошибка\\n")
open(sys.argv[2])
print(json.dumps({
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "name": __name__,
    "parent": os.getppid(),
    "files": len(os.listdir("/proc/self/fd")),
    "reactor": "twisted.internet.reactor" in sys.modules,
    "path": sys.path,
    "read": sys.stdin.read(),
    "unbuffered": sys.stdout.write_through,
    "warm": "newsbot.cli.command" in sys.modules,
    "draw": random.random(),
}))
raise SystemExit(7)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "shown.py").write_text(PROGRAM, encoding="utf8")
    return [sys.executable, "-m", "shown", "one", "shown.py"]


def observe(
    program: list[str],
    folder: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
    kind: Callable[..., subprocess.Popen[str]] = warm.Popen,
) -> tuple[dict[str, Any], str]:
    """Return what a program observed, and its stderr."""
    with kind(
        program,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = process.communicate("words\n", timeout=60)
    assert process.returncode == 7, err
    return json.loads(out), err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_warm_start_is_like_a_cold_start_except_for_imports(
    program: list[str], tmp_path: Path, unbuffered: str
) -> None:
    own = {"OWN": "x", "PYTHONPATH": f"{tmp_path}{os.pathsep}{warm.ROOT}", "PYTHONUNBUFFERED": unbuffered}
    cold, cold_err = observe(program, tmp_path, own, warm.Cold)
    started, err = observe(program, tmp_path, own)
    assert (cold.pop("warm"), started.pop("warm")) == (False, True)
    assert cold.pop("draw") != started.pop("draw")
    assert started == cold
    assert err == cold_err
    assert started["parent"] == os.getpid()


def test_programs_draw_different_random_numbers(program: list[str], tmp_path: Path) -> None:
    assert observe(program, tmp_path)[0]["draw"] != observe(program, tmp_path)[0]["draw"]


def test_variables_read_at_the_start_of_python_need_a_cold_start(program: list[str], tmp_path: Path) -> None:
    assert not observe(program, tmp_path, {"PYTHONHASHSEED": "1"})[0]["warm"]


def test_another_newsbot_needs_a_cold_start(program: list[str], tmp_path: Path) -> None:
    (tmp_path / "newsbot").mkdir()
    assert not observe(program, tmp_path, {"PYTHONPATH": str(tmp_path)})[0]["warm"]
    assert not observe(program, tmp_path, {"PYTHONPATH": str(tmp_path / "an.egg")})[0]["warm"]


def test_apps_of_other_packages_need_a_cold_start(program: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine-1.0.dist-info").mkdir()
    assert not observe(program, tmp_path, {"PYTHONPATH": str(tmp_path)})[0]["warm"]
    assert not observe(program, tmp_path, {"NEWSBOT_APPS": "search"})[0]["warm"]


def test_resource_warnings_are_errors_if_requested(program: list[str], tmp_path: Path) -> None:
    assert "ResourceWarning" not in observe(program, tmp_path)[1]
    assert (
        "ResourceWarning" in observe([program[0], "-W", "error::ResourceWarning", *program[1:]], tmp_path)[1]
    )


def test_a_warm_program_can_be_killed(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("print(flush=True); input()\n")
    with warm.Popen[str](
        [sys.executable, "-m", "waits"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        assert process.poll() is None
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


def test_threads_can_start_programs_simultaneously(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    warm._server.cache_clear()  # one of the threads starts the server
    with ThreadPoolExecutor(4) as threads:
        ended = threads.map(lambda _: warm.run([sys.executable, "-m", "ends"], cwd=tmp_path), range(12))
        assert [one.returncode for one in ended] == [3] * 12


def test_a_program_over_its_time_limit_is_killed(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time; time.sleep(3600)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run([sys.executable, "-m", "waits"], cwd=tmp_path, timeout=0.5)
