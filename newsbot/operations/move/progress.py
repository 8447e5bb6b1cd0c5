"""How far a move is: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from newsbot.operations.move.copying import Report

LINE_EVERY = 10_000
"""Where there is no terminal, a line is written for so many things."""

Totals = Mapping[str, int]
"""About how many there are of what is reported; what is not in it has no end that is known."""


@contextmanager
def bars(console: Console, totals: Totals) -> Iterator[Report]:
    """Give a function that draws a bar for each kind."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as drawn:
        tasks: dict[str, TaskID] = {}

        def show(kind: str, number: int) -> None:
            if kind not in tasks:
                _close(drawn, tasks.values())
                tasks[kind] = drawn.add_task(kind, total=totals.get(kind))
            drawn.update(tasks[kind], completed=number)

        yield show
        _close(drawn, tasks.values())


def lines(write: Callable[[str], None], totals: Totals) -> Report:
    """Return a function that writes a line for every so many things."""
    told: dict[str, int] = {}

    def show(kind: str, number: int) -> None:
        if number // LINE_EVERY > told.get(kind, 0):
            told[kind] = number // LINE_EVERY
            write(f"{kind}: {number} of {totals[kind]}" if kind in totals else f"{kind}: {number}")

    return show


def _close(drawn: Progress, tasks: Iterable[TaskID]) -> None:
    """What was counted is all there was."""
    for task in tasks:
        drawn.update(task, total=drawn.tasks[task].completed)
