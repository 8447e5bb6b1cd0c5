"""Reads the option ``--policies``: strategies by name, or from a user's Python file."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from newsbot.errors import ArgumentError, UserError
from newsbot.simulator.strategies import STRATEGIES, Strategy
from newsbot.simulator.visits import WAYS

MOST: Final = 16
"""Maximum number of strategies in a comparison. A chart cannot show more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and the kind of its requests."""

    label: str
    """The text of this choice in the option."""
    strategy: Strategy
    way: str
    """The kind of its requests: one of :data:`newsbot.simulator.visits.WAYS`."""


def choose(text: str, way: str) -> Sequence[Choice]:
    """Return the strategies in a text such as ``name,name+way,file.py``.

    ``way`` is the kind of requests of strategies for which the text does not name one.
    Raises :class:`ArgumentError` for an unknown name, and :class:`UserError` for a file without a policy.
    """
    labels = [part.strip() for part in text.split(",") if part.strip()]
    if not 0 < len(labels) <= MOST:
        raise ArgumentError(f"--policies: 1 to {MOST} are needed, {len(labels)} are given")
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ArgumentError(f"--policies: {twice[0]} is given twice")
    return [_choice(label, way) for label in labels]


def _choice(label: str, way: str) -> Choice:
    name, plus, own = label.rpartition("+")
    if not plus:
        name, own = label, way
    if own not in WAYS:
        raise ArgumentError(f"--policies {label}: {own!r} is not a way to ask; allowed: {', '.join(WAYS)}")
    if name.endswith(".py"):
        return Choice(label, from_file(Path(name)), own)
    if name not in STRATEGIES:
        near = get_close_matches(name, STRATEGIES, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        allowed = ", ".join(STRATEGIES)
        raise ArgumentError(f"--policies: unknown policy {name!r}{hint}; allowed: {allowed}, or FILE.py")
    return Choice(label, STRATEGIES[name], own)


def from_file(path: Path) -> Strategy:
    """Return the strategy in a Python file: its only class with a method ``next_polls``.

    The file is executed. Raises :class:`ArgumentError` if it does not exist, and :class:`UserError` with the
    line if it raises an error or does not have exactly one such class.
    """
    if not path.is_file():
        raise ArgumentError(f"--policies {path}: the file does not exist")
    # Only classes that the file itself defines have its name as __module__. Imported classes do not count.
    names: dict[str, Any] = _guarded(path, lambda: runpy.run_path(str(path), run_name=path.stem))
    found = [
        value
        for value in names.values()
        if isinstance(value, type) and value.__module__ == path.stem and hasattr(value, "next_polls")
    ]
    if len(found) != 1:
        raise UserError(
            f"{path}: has {len(found)} classes with next_polls; one is needed (docs/simulator.md)"
        )
    made = found[0]
    return Strategy(
        path.stem, made.__doc__ or path.stem, lambda task: Guarded(path, _guarded(path, made, task))
    )


class Guarded:
    """A policy from a user's file. Its exceptions become one-line messages (:class:`UserError`)."""

    def __init__(self, path: Path, policy: Any) -> None:
        self._path, self._policy = path, policy

    def next_polls(self, polled: Any) -> Any:
        """See :class:`newsbot.recrawl.policy.PollPolicy`."""
        return _guarded(self._path, self._policy.next_polls, polled)

    def spend(self, requests: float, hours: float) -> None:
        """See :class:`newsbot.recrawl.policy.PollPolicy`."""
        _guarded(self._path, self._policy.spend, requests, hours)


def _guarded(path: Path, call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:  # the user's code may raise anything
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        place = f"{path}:{lines[-1]}" if lines else str(path)
        raise UserError(f"{place}: {type(error).__name__}: {error}") from error
