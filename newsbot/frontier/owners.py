"""Names of those who hold leases (``host:pid:start``). On one machine it can be seen that an owner is
dead.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable

_PID = re.compile(r"[1-9][0-9]{0,8}")
_ours: set[str] = set()
"""Owners that live in this process."""


def owner_name(started: float) -> str:
    """Return a name under which this process can own leases; ``started`` in POSIX seconds."""
    name = f"{socket.gethostname()}:{os.getpid()}:{started:.6f}"
    _ours.add(name)
    return name


def dead_owners(owners: Iterable[str]) -> list[str]:
    """Return the owners that ran on this machine and run no more.

    A pid that was given to another program looks alive; its leases end by their deadline. Our own pid
    under a name that is not ours was an earlier process (in a container pids repeat).
    """
    here = socket.gethostname()
    dead = []
    for owner in owners:
        host, _, rest = owner.rpartition(":")[0].rpartition(":")
        if owner not in _ours and host == here and _PID.fullmatch(rest) and not _alive(int(rest)):
            dead.append(owner)
    return dead


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
