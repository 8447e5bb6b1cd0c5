"""Refusing work that memory cannot hold, before it begins."""

from __future__ import annotations

import os
from pathlib import Path

from newsbot.errors import UserError

_MEMINFO = Path("/proc/meminfo")
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GROUP_USED = Path("/sys/fs/cgroup/memory.current")


def available() -> int:
    """Return bytes of memory that can still be had, also within the limit of a container."""
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        room = int(lines["MemAvailable"].split()[0]) * 1024
    if _GROUP_LIMIT.exists() and _GROUP_USED.exists():
        limit = _GROUP_LIMIT.read_text(encoding="ascii").strip()
        if limit != "max":
            room = min(room, int(limit) - int(_GROUP_USED.read_text(encoding="ascii")))
    return room


def require(needed: float, what: str) -> None:
    """Raise :class:`UserError` if ``what`` needs more bytes than there are."""
    room = available()
    if needed > room:
        raise UserError(
            f"{what} would need {needed / 2**30:,.1f} GB of memory, {room / 2**30:,.1f} GB are there; "
            "take fewer pages, a lower intensity, or a larger --scale"
        )
