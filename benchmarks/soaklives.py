"""The processes of ``benchmarks.soak``: each life of each one, its log, its memory, and how it ended."""

from __future__ import annotations

import signal
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np

WARM_UP = 1 / 3
"""Share of the run that is warm-up, for what lived through it; of its own life for what was started later."""
LEAST_SECONDS = 300.0
"""A life that is shorter after its warm-up says nothing about growth."""
LAST_LINES = 12
_MOST_PAIRS = 400
"""Samples of which all pairs are compared; more are thinned out."""


@dataclass(slots=True)
class Life:
    """One process, from its start to its end. Times are seconds of a clock that never jumps."""

    name: str
    number: int
    """Which life of that name: 1 is the first."""
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    memory: list[tuple[float, float]] = field(default_factory=list)
    """(time, MB that it alone has)."""
    ended: float | None = None
    by_itself: bool = False

    def look(self, now: float) -> bool:
        """Note its memory; False if it has ended, though nobody asked it to."""
        size = own_megabytes(self.process.pid)
        if size:
            self.memory.append((now, size))
        if self.process.poll() is None:
            return True
        self.ended, self.by_itself = now, True
        return False

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self.process.kill()
        self.process.wait()
        self.ended = time.monotonic()

    def stop(self, seconds: float) -> None:
        """End it gently, and at once if that takes longer than ``seconds``."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def end(self) -> str:
        """Say how it ended by itself: after how long, how, for which reason, with which last lines."""
        lines = self.log.read_text(errors="replace").splitlines()
        reason = next((line for line in reversed(lines) if "Closing spider" in line), "")
        told = f"{self.name} {self.number}: after {(self.ended or self.began) - self.began:.0f} s, "
        told += exit_word(self.process.returncode) + (f", {reason}" if reason else "")
        return "\n  ".join([told, *(lines[-LAST_LINES:] or ["its log is empty"])])


def exit_word(code: int) -> str:
    """Return an exit code in words; a signal that we did not send came from the system or the program."""
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name} that the benchmark did not send" + (" (out of memory?)" if name == "SIGKILL" else "")


def own_megabytes(pid: int) -> float:
    """Return the memory that is a process's alone, in MB (proc(5), smaps_rollup); 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def growth(life: Life, begin: float, end: float) -> dict[str, float]:
    """Return what a life's memory did after its warm-up, until ``end``; empty if that was too short.

    A line through the samples (Theil and Sen: the median of the slopes of all pairs, so that single peaks
    do not count) says where memory stood after the warm-up and where it stood at the end.
    """
    since, until = max(begin, life.began), min(end, life.ended or end)
    since += (until - since) * WARM_UP
    samples = [(moment, size) for moment, size in life.memory if since <= moment <= until]
    if until - since < LEAST_SECONDS or len(samples) < 3:
        return {}
    samples = samples[:: -(-len(samples) // _MOST_PAIRS)]
    slope = statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(samples, 2))
    middle = statistics.median(size - slope * (moment - since) for moment, size in samples)
    return {
        "minutes": (until - since) / 60,
        "MB after warm-up": middle,
        "MB at the end": middle + slope * (until - since),
        "MB an hour": slope * 3600,
        "growth": 1 + slope * (until - since) / middle,
    }


def course(life: Life, begin: float, end: float, parts: int = 12) -> list[float]:
    """Return the median memory in each of so many equal parts of the run, in MB; 0 where it was not there."""
    edges = np.linspace(begin, end, parts + 1)
    return [
        round(statistics.median([size for moment, size in life.memory if a <= moment < b] or [0.0]), 1)
        for a, b in pairwise(edges)
    ]
