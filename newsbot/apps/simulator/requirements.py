"""The requirements of the simulator: optional packages, compiled functions, and enough memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from newsbot.apps.optional import load_optional
from newsbot.errors import UserError

_MEMINFO = Path("/proc/meminfo")
# The memory limit and the memory use of a container (control group version 2 of Linux).
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GROUP_USED = Path("/sys/fs/cgroup/memory.current")
F = TypeVar("F", bound=Callable[..., object])
Ended = Callable[[str, int, str], None]
"""A function that is called after each run, with the module, the seed, and a description of the run."""


def ignore(_module: str, _seed: int, _run: str) -> None:
    """Do nothing (an :data:`Ended`)."""


def optional(module: str) -> Any:
    """Import and return a module of a package that only the simulator uses.

    Raises :class:`UserError` with the command that installs it if the package is missing.
    """
    return load_optional(module, "simulator", "the simulator")


numba = optional("numba")
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(function: F) -> F:
    """Return a version of ``function`` that numba compiles to machine code at its first call.

    The machine code runs without the global interpreter lock. It is stored beside the module, or in the
    folder ``NUMBA_CACHE_DIR``. Plain Python would need hours for the published plan. A run cannot be written
    as numpy operations on arrays, because each step of a robot depends on its earlier steps.
    """
    try:
        return cast("F", numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no folder is writable, so each process compiles the function again
        return cast("F", numba.njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Return a version of ``function`` that is copied into each compiled function that calls it.

    So there is no call at run time. A call is slow, because numba counts the references to each array.
    """
    return cast("F", numba.njit(inline="always", **_OPTIONS)(function))


def available_memory() -> int:
    """Return the free memory in bytes, within the memory limit of the container."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    if _GROUP_LIMIT.exists() and _GROUP_USED.exists():
        limit = _GROUP_LIMIT.read_text(encoding="ascii").strip()
        # cgroup v2 writes "max" for unlimited memory.
        if limit != "max":
            free = min(free, int(limit) - int(_GROUP_USED.read_text(encoding="ascii")))
    return free


def require_memory(needed: float, what: str) -> None:
    """Raise :class:`UserError` if ``what`` needs more bytes of memory than are free."""
    free = available_memory()
    if needed > free:
        raise UserError(
            f"{what} would need {needed / 2**30:,.1f} GB of memory, but {free / 2**30:,.1f} GB are free; "
            "use fewer pages, a lower intensity, or a larger --scale"
        )
