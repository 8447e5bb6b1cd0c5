"""``scrapy simulate``: runs the simulator, shows its progress and prints its results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, make_console
from newsbot.simulator import actions


def _short(act: Callable[[Any], actions.Answer]) -> Callable[[Call], int]:
    """Return an action that runs a short step and prints its result."""

    @wraps(act)
    def run(call: Call) -> int:
        return _print(act(call.options), call)

    return run


def _long(act: Callable[[Any, actions.Session], actions.Answer]) -> Callable[[Call], int]:
    """Return an action that runs a long step, with a progress bar and access to the storage."""

    @wraps(act)
    def run(call: Call) -> int:
        with _progress() as show:
            opened = partial(stored, call.settings)
            session = actions.Session(json=call.json, progress=show, open_storage=opened)
            answer = act(call.options, session)
        return _print(answer, call)

    return run


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
    """Yield a function that shows the progress as a bar; without a terminal it shows nothing."""
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=make_console(sys.stderr), disable=quiet, transient=True) as progress:
        task = progress.add_task("runs", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


experiment = _long(actions.experiment)
compare = _long(actions.compare)
plan = _long(actions.plan)
pages = _short(actions.pages)
changes = _short(actions.changes)
queries = _short(actions.queries)
routes = _short(actions.routes)
robot = _short(actions.robot)
modified = _short(actions.modified)
sensor = _short(actions.sensor)
merge = _short(actions.merge)
report = _short(actions.report)
