"""Names of lease owners (``host:pid:start``), and a check for owners on this machine that have died."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable

_PID = re.compile(r"[1-9][0-9]{0,8}")
_ours: set[str] = set()
"""Owner names that this process created."""


def owner_name(started: float) -> str:
    """Return a name under which this process can own leases. ``started`` is in POSIX seconds."""
    name = f"{socket.gethostname()}:{os.getpid()}:{started:.6f}"
    _ours.add(name)
    return name


def dead_owners(owners: Iterable[str]) -> list[str]:
    """Return the owners whose process ran on this machine and has ended.

    If another program has the pid now, the owner seems to be alive, and its leases end at their deadline. An
    owner with the pid of this process but a different name was an earlier process, because pids repeat in
    containers.
    """
    here = socket.gethostname()
    dead = []
    for owner in owners:
        host, _, rest = owner.rpartition(":")[0].rpartition(":")
        if owner not in _ours and host == here and _PID.fullmatch(rest) and not _alive(int(rest)):
            dead.append(owner)
    return dead


def _alive(pid: int) -> bool:
    """Return True if another process has this pid."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)  # signal 0 only checks that the process exists
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True
