"""``scrapy simulate``: let the simulator work, show its progress, and print what it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, make_console
from newsbot.simulator import actions


def _show(act: Callable[..., actions.Answer], call: Call) -> int:
    """Run a short step and print its answer."""
    return _print(act(call.options), call)


def _show_long(act: Callable[..., actions.Answer], call: Call) -> int:
    """Run a step that takes a while, with a progress bar and access to the storage."""
    with _progress() as show:
        opened = partial(stored, call.settings)
        answer = act(call.options, actions.Session(json=call.json, progress=show, open_storage=opened))
    return _print(answer, call)


def _print(answer: actions.Answer, call: Call) -> int:
    if call.json:
        call.document(answer.document)
        return 0
    if answer.columns:
        call.table([Column(*one) for one in answer.columns], answer.rows)
    for line in answer.lines:
        call.text(line)
    if answer.note:
        call.note(answer.note)
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows the progress: as a bar on a terminal, not at all elsewhere."""
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=make_console(sys.stderr), disable=quiet, transient=True) as progress:
        task = progress.add_task("runs", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


experiment = partial(_show_long, actions.experiment)
compare = partial(_show_long, actions.compare)
plan = partial(_show_long, actions.plan)
pages = partial(_show, actions.pages)
changes = partial(_show, actions.changes)
queries = partial(_show, actions.queries)
routes = partial(_show, actions.routes)
robot = partial(_show, actions.robot)
modified = partial(_show, actions.modified)
sensor = partial(_show, actions.sensor)
merge = partial(_show, actions.merge)
report = partial(_show, actions.report)
