"""A worker process for tests: ``python -m tests.contracts.frontier_worker BACKEND FOLDER OWNER``.

Leases pages, queues one child for each page of the first level, acknowledges, and prints the name of each
page whose acknowledgement was accepted. Every seventh page fails once. The worker prints "ready", starts
after a line on stdin, and ends when there are no more pages.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from newsbot.frontier.base import Frontier, Lease
from tests.contracts.frontier_backends import FrontierPlace, make_entry, name_of

HORIZON = time.time() + 3600.0


def main(backend: str, folder: str, owner: str) -> None:
    frontier = FrontierPlace(backend, Path(folder)).open()
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        leases = frontier.lease(owner, 5, horizon=HORIZON, ttl=600.0)
        for lease in leases:
            visit(frontier, lease)
        if not leases:
            outlook = frontier.outlook(horizon=HORIZON)
            if outlook.next_at is None and outlook.leased == 0:
                break
            time.sleep(0.005)
    frontier.close()


def visit(frontier: Frontier, lease: Lease) -> None:
    name = name_of(lease.entry)
    if int(name.rpartition("-")[2]) % 7 == 0 and lease.attempts == 0:
        assert frontier.nack(lease, delay=0.0)
        return
    if name.startswith("page-"):
        frontier.add([make_entry(f"child-{name}", host=lease.entry.host)])
    if frontier.ack(lease, next_due=None):
        print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
