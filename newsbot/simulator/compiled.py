"""The one place that compiles loops over events to machine code (numba).

A robot's next step depends on all its steps before, so that a run cannot be written as operations
on whole arrays; in plain Python the published plan takes hours. What is compiled is kept on disk beside the
modules (or where ``NUMBA_CACHE_DIR`` says), and threads run it side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from newsbot.errors import UserError

try:
    import numba
except ModuleNotFoundError as error:
    if error.name != "numba":
        raise
    raise UserError(
        "the simulator needs numba and pyarrow: pip install -r requirements-simulator.txt"
    ) from error

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` when it is first called; other threads run meanwhile."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return cast("F", numba.njit(cache=True, **options)(function))
    except RuntimeError:  # no folder to keep it in can be written to: compile anew in each process
        return cast("F", numba.njit(**options)(function))


def inlined(function: F) -> F:
    """Compile ``function`` as a part of each caller: a call would count references to every array."""
    return cast("F", numba.njit(nogil=True, error_model="numpy", inline="always")(function))
