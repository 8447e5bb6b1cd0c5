"""The processes of ``benchmarks.soak``: their logs, their memory, and how they ended."""

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
"""Share of the run that counts as warm-up. For a process that was started later, it is a share of its own
lifetime."""
LEAST_SECONDS = 300.0
"""A process that ran for a shorter time after its warm-up is not measured."""
LAST_LINES = 12
_MOST_PAIRS = 400
"""Maximum number of samples whose pairs are compared. If there are more samples, some are left out."""


@dataclass(slots=True)
class Life:
    """One process, from start to end. Times are in seconds of a monotonic clock."""

    name: str
    number: int
    """How many processes with this name have been started, including this one."""
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    memory: list[tuple[float, float]] = field(default_factory=list)
    """(time, private memory in MB)."""
    ended: float | None = None
    by_itself: bool = False

    def check(self, now: float) -> bool:
        """Record the memory of the process; return False if it has ended by itself."""
        size = own_megabytes(self.process.pid)
        if size:
            self.memory.append((now, size))
        if self.process.poll() is None:
            return True
        self.ended, self.by_itself = now, True
        return False

    def kill(self) -> None:
        """Kill the process (SIGKILL)."""
        self.process.kill()
        self.process.wait()
        self.ended = time.monotonic()

    def stop(self, seconds: float) -> None:
        """Terminate the process; kill it if that takes longer than ``seconds``."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def end(self) -> str:
        """Describe how the process ended by itself: duration, exit code, reason, last lines of the log."""
        lines = self.log.read_text(errors="replace").splitlines()
        reason = next((line for line in reversed(lines) if "Closing spider" in line), "")
        text = f"{self.name} {self.number}: after {(self.ended or self.began) - self.began:.0f} s, "
        text += exit_word(self.process.returncode) + (f", {reason}" if reason else "")
        return "\n  ".join([text, *(lines[-LAST_LINES:] or ["its log is empty"])])


def exit_word(code: int) -> str:
    """Describe an exit code. If the benchmark did not send the signal, the system or the program has sent
    it."""
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name} that the benchmark did not send" + (" (out of memory?)" if name == "SIGKILL" else "")


def own_megabytes(pid: int) -> float:
    """Return the private memory of a process in MB (proc(5), smaps_rollup); 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def growth(life: Life, begin: float, end: float) -> dict[str, float]:
    """Return the growth of a process's memory from its warm-up until ``end``; empty if the time is too short.

    The memory after the warm-up and at the end is read from a robust line through the samples (Theil and
    Sen). The slope of this line is the median of the slopes of all pairs of samples, so single peaks do not
    matter.
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
    """Return the median memory in each of ``parts`` equal parts of the run, in MB; 0 without samples."""
    edges = np.linspace(begin, end, parts + 1)
    return [
        round(statistics.median([size for moment, size in life.memory if a <= moment < b] or [0.0]), 1)
        for a, b in pairwise(edges)
    ]
