"""``scrapy simulate experiment``: the whole plan, with a bar on a terminal and a comparison at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, make_console
from newsbot.errors import ArgumentError
from newsbot.simulator.comparison import Check
from newsbot.simulator.experiment import Experiment, as_document, run_experiment, write_experiment
from newsbot.simulator.files import make_folder
from newsbot.simulator.plan import MAX_SCALE, Tell

MAX_WORKERS = 4
"""More would need more memory than the plan is worth."""
DEFAULT_FOLDER = "simulation"


def experiment(call: Call) -> int:
    """Run the plan, write tables and report, say how it compares."""
    options = call.options
    if options.scale > MAX_SCALE:
        raise ArgumentError(f"--scale {options.scale}: 1 to {MAX_SCALE} are allowed")
    folder = Path(options.out or DEFAULT_FOLDER).expanduser() if options.out or not call.json else None
    if folder is not None:
        make_folder(folder)
    began, used = time.monotonic(), time.process_time()
    with _progress(options.seeds) as tell:
        found = run_experiment(
            options.scale,
            seed=options.seed,
            seeds=options.seeds,
            frequencies=options.frequencies,
            workers=min(MAX_WORKERS, _processors()),
            tell=tell,
        )
    seconds, used = time.monotonic() - began, time.process_time() - used
    judged = options.scale == 1 and options.frequencies == "published"
    if folder is not None:
        write_experiment(folder, found, _about(options), judged=judged)
    if call.json:
        call.document(as_document(found))
        return 0
    _tell(call, found, judged=judged)
    call.text(f"{len(found.runs['situation'])} runs in {seconds:.1f} s ({used:.1f} s of processor time)")
    call.text(f"tables and report: {folder}; open {folder}/report.html")
    return 0


def _about(options: Any) -> list[str]:
    seeds = (
        f"seed {options.seed}"
        if options.seeds == 1
        else f"means over {options.seeds} seeds from {options.seed}"
    )
    lines = [
        f"54 fields, 7 variants; scale {options.scale}, {seeds}, frequencies {options.frequencies}.",
        "Made by: scrapy simulate experiment. The model is described in docs/simulator.md.",
    ]
    if options.scale != 1 or options.frequencies != "published":
        lines.append("Tolerances hold for full scale and the frequencies published; here nothing is judged.")
    return lines


def _tell(call: Call, found: Experiment, *, judged: bool) -> None:
    groups: dict[str, list[Check]] = {}
    for check in found.checks:
        groups.setdefault(check.group, []).append(check)
    rows = []
    for group, checks in groups.items():
        worst = max(checks, key=lambda check: abs(check.deviation))
        verdicts = [check.within for check in checks if check.within is not None] if judged else []
        within = f"{sum(map(bool, verdicts))} of {len(verdicts)}" if verdicts else "-"
        rows.append((group, len(checks), within, f"{worst.deviation:+.3g} {worst.unit}", worst.what))
    columns = (Column("published figures"), Column("number", "right"), Column("within tolerance", "right"))
    call.table((*columns, Column("largest deviation", "right"), Column("of", wide=True)), rows)
    call.text()


@contextmanager
def _progress(seeds: int) -> Iterator[Callable[[int], Tell]]:
    """Give what makes a listener for each seed: a bar on a terminal, silence elsewhere."""
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=make_console(sys.stderr), disable=quiet, transient=True) as progress:
        task = progress.add_task("runs", total=None)

        def of_seed(number: int) -> Tell:
            return lambda done, total: progress.update(
                task, completed=number * total + done, total=seeds * total
            )

        yield of_seed


def _processors() -> int:
    """Return how many processors this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # only Linux tells
    return len(allowed(0)) if allowed else os.cpu_count() or 1
