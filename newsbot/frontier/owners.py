"""Makes the names of lease owners (``host:pid:start``), and finds dead owners on this machine.

An owner of leases is a worker process.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable

from newsbot.errors import DataError
from newsbot.frontier.base import FrontierTransfer

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

    If another program has the pid now, the owner seems to be alive. Its leases then end at their deadline. If
    an owner has the pid of this process, but this process did not create its name, the owner was an earlier
    process. This happens in containers, where pids are often the same after a restart.
    """
    here = socket.gethostname()
    dead = []
    for owner in owners:
        # "host:pid:start" is split from the right, because a host name may contain colons.
        host, _, rest = owner.rpartition(":")[0].rpartition(":")
        if owner not in _ours and host == here and _PID.fullmatch(rest) and not _alive(int(rest)):
            dead.append(owner)
    return dead


def _alive(pid: int) -> bool:
    """Return True if another process has the pid."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)  # signal 0 only checks that the process exists
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def check_idle(frontier: FrontierTransfer) -> None:
    """Raise :class:`DataError` if a crawl uses this frontier.

    Workers that are certainly dead are ignored.
    """
    owners = frontier.at_work()
    working = set(owners) - set(dead_owners(owners))
    if working:
        raise DataError(
            f"a crawl is still using the data ({', '.join(sorted(working))}); stop it first. If it "
            "was killed on another machine, wait a few minutes until its leases have expired"
        )
