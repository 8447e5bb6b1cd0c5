"""A replica set of three mongod on loopback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tests.servers import MongoServer, need_mongod

_PATIENCE = 60.0
Client = MongoClient[dict[str, Any]]


def wait_until(there: Callable[[], object], what: str) -> None:
    """Wait until ``there()`` is true. Errors of MongoDB count as false."""
    end = time.monotonic() + _PATIENCE
    while True:
        with suppress(PyMongoError):
            if there():
                return
        assert time.monotonic() < end, what
        time.sleep(0.05)


class ReplicaSet:
    """Three members, of which two can elect a primary."""

    def __init__(self, folder: Path) -> None:
        self.members = [MongoServer(folder / str(number)) for number in range(3)]
        hosts = [f"127.0.0.1:{member.port}" for member in self.members]
        self.uri = f"mongodb://{','.join(hosts)}/newsbot?replicaSet=rs0"
        self._config = {
            "_id": "rs0",
            "members": [{"_id": number, "host": host} for number, host in enumerate(hosts)],
            "settings": {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500},
        }

    def start(self) -> None:
        """Start all members; return when they have a primary and two secondaries."""
        for member in self.members:
            member.launch()
        with Client("127.0.0.1", self.members[0].port, directConnection=True) as client:
            client.admin.command("replSetInitiate", self._config)
        self.wait_until_whole()

    def primary(self) -> MongoServer:
        """Return the member that is the primary now."""
        with Client(self.uri) as client:
            client.admin.command("ping")
            assert client.primary is not None
            port = client.primary[1]
        return next(member for member in self.members if member.port == port)

    def wait_until_whole(self) -> None:
        """Wait until all members belong to the set again and accept reads or writes."""

        def is_whole() -> bool:
            with Client(self.uri, serverSelectionTimeoutMS=500) as client:
                states = [one["state"] for one in client.admin.command("replSetGetStatus")["members"]]
            return sorted(states) == [1, 2, 2]

        wait_until(is_whole, "the replica set does not get whole")

    def stop(self) -> None:
        """Stop all members."""
        for member in self.members:
            member.stop()


def run_replica_set(folder: Path) -> Iterator[ReplicaSet]:
    """Yield a running replica set, for a fixture."""
    need_mongod()
    servers = ReplicaSet(folder)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()
