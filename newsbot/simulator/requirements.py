"""Requirements of the simulator: optional packages, compiled loops, enough memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from newsbot.errors import UserError

_MEMINFO = Path("/proc/meminfo")
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GROUP_USED = Path("/sys/fs/cgroup/memory.current")
F = TypeVar("F", bound=Callable[..., object])


def optional(module: str) -> Any:
    """Import a module of a package that only the simulator uses.

    Raises :class:`UserError` that says what to install if the package is missing.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UserError(
            f"the simulator needs {package}: pip install -r requirements-simulator.txt"
        ) from error


numba = optional("numba")
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(function: F) -> F:
    """Compile ``function`` to machine code at its first call. It runs without the global interpreter lock.

    A robot's next step depends on all its steps before, so a run cannot be written as operations on whole
    arrays, and in plain Python the published plan takes hours. The machine code is stored beside the module
    or in ``NUMBA_CACHE_DIR``.
    """
    try:
        return cast("F", numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no folder is writable: compile again in each process
        return cast("F", numba.njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Inline ``function`` into each compiled caller: a call would count references to every array."""
    return cast("F", numba.njit(inline="always", **_OPTIONS)(function))


def available_memory() -> int:
    """Return the bytes of memory that are free, within the limit of a container too."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    if _GROUP_LIMIT.exists() and _GROUP_USED.exists():
        limit = _GROUP_LIMIT.read_text(encoding="ascii").strip()
        if limit != "max":
            free = min(free, int(limit) - int(_GROUP_USED.read_text(encoding="ascii")))
    return free


def require_memory(needed: float, what: str) -> None:
    """Raise :class:`UserError` if ``what`` needs more bytes than are free."""
    free = available_memory()
    if needed > free:
        raise UserError(
            f"{what} would need {needed / 2**30:,.1f} GB of memory, {free / 2**30:,.1f} GB are free; "
            "take fewer pages, a lower intensity, or a larger --scale"
        )
