"""A replica set of three mongod, and a Redis Cluster of three masters and three replicas, on loopback."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis
from pymongo import MongoClient
from pymongo.errors import PyMongoError
from redis.backoff import NoBackoff
from redis.retry import Retry

from testbed.redisserver import need_redis
from testbed.servers import MongoServer, free_port, need_mongod
from tests.crawls import ROOT

START_TIMEOUT = 120.0
Client = MongoClient[dict[str, Any]]


def wait_until(there: Callable[[], object], what: str) -> None:
    """Wait until ``there()`` is true. Errors of the servers count as false."""
    end = time.monotonic() + START_TIMEOUT
    while True:
        with suppress(PyMongoError, redis.exceptions.RedisError):
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
        for member in self.members:
            with Client("127.0.0.1", member.port, directConnection=True) as client:
                client.admin.command("ping")
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


PASSWORD, ADMIN_PASSWORD = "0123456789abcdef", "fedcba9876543210"
_BUS = 10_000
"""The port of the cluster bus is this much above the port for clients."""


class RedisNode:
    """A node of a cluster, as ``deploy/redis-start`` starts it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        while (port := free_port()) + _BUS > 65535:
            pass
        self.port, self.place = port, f"127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.admin = redis.Redis(
            port=port,
            username="admin",
            password=ADMIN_PASSWORD,
            decode_responses=True,
            socket_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )

    def launch(self) -> None:
        """Start the process."""
        environment = {
            **os.environ,
            "REDIS_PASSWORD": PASSWORD,
            "REDIS_ADMIN_PASSWORD": ADMIN_PASSWORD,
            "REDIS_USERS_FILE": str(self.folder / "users.acl"),
            "REDIS_CLUSTER": "yes",
        }
        options = ["--port", str(self.port), "--dir", str(self.folder), "--cluster-node-timeout", "2000"]
        options += ["--cluster-replica-validity-factor", "0"]  # on a busy machine a replica may be far behind
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [ROOT / "deploy/redis-start", *options], env=environment, stdout=log, stderr=log
            )

    def signal(self, number: int) -> None:
        """Send a signal to the node (SIGSTOP: it hangs, SIGCONT: it continues)."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the node (SIGKILL)."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def run(self, *command: str | int) -> Any:
        """Run a command as admin and return the raw answer."""
        with self.admin.client() as client:
            return client.execute_command(*command)


class RedisNodes:
    """A Redis Cluster of three masters with a replica each, made with the commands of docs/operations.md."""

    def __init__(self, folder: Path) -> None:
        self.nodes = [RedisNode(folder / str(number)) for number in range(6)]
        places = ",".join(node.place for node in self.nodes)
        self.url = f"redis://newsbot:{PASSWORD}@{places}/0"

    def start(self) -> None:
        """Start all nodes and make a cluster of them; return when all replicas follow their masters."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            wait_until(node.admin.ping, f"{node.folder}/log: the node does not start")
        command = [
            "redis-cli",
            "--user",
            "admin",
            "--cluster",
            "create",
            *(node.place for node in self.nodes),
        ]
        subprocess.run(
            [*command, "--cluster-replicas", "1", "--cluster-yes"],
            env={**os.environ, "REDISCLI_AUTH": ADMIN_PASSWORD},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.wait_until_whole()

    def master_of(self, slot: int) -> RedisNode:
        """Return the node that serves a slot, according to most of the nodes."""

        def find() -> bool:
            seen = [place for node in self.nodes if (place := _served_by(node, slot))]
            best = max(set(seen), key=seen.count, default="")
            found.extend(node for node in self.nodes if node.place == best and seen.count(best) > 3)
            return bool(found)

        found: list[RedisNode] = []
        wait_until(find, f"nobody serves slot {slot}")
        return found[0]

    def masters(self) -> list[RedisNode]:
        """Return the three masters."""
        return [node for node in self.nodes if node.run("ROLE")[0] == "master"]

    def replica_of(self, master: RedisNode) -> RedisNode:
        """Return the replica of a master."""
        name = master.run("CLUSTER", "MYID")
        (replica,) = [node for node in self.nodes if _followed_by(node) == name]
        return replica

    def wait_until_whole(self) -> None:
        """Wait until all nodes agree, and each master has a replica that is up to date."""

        def is_whole() -> bool:
            for node in self.nodes:
                info = node.run("CLUSTER", "INFO")
                if "cluster_state:ok" not in str(info):
                    return False
            roles = [node.run("ROLE") for node in self.nodes]
            masters = [role for role in roles if role[0] == "master"]
            followers = [role for role in roles if role[0] == "slave" and role[3] == "connected"]
            return len(masters) == len(followers) == 3 and all(len(role[2]) == 1 for role in masters)

        wait_until(is_whole, "the cluster does not get whole")

    def move(self, slot: int, target: RedisNode) -> None:
        """Move a slot with all its keys to another master, as redis-cli --cluster reshard does."""
        source = self.master_of(slot)
        source_id, target_id = source.run("CLUSTER", "MYID"), target.run("CLUSTER", "MYID")
        target.run("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.run("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        login = ("AUTH2", "admin", ADMIN_PASSWORD)
        while keys := source.run("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source.run("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, *login, "KEYS", *keys)
        for node in (target, source):
            node.run("CLUSTER", "SETSLOT", slot, "NODE", target_id)

    def stop(self) -> None:
        """Stop all nodes."""
        for node in self.nodes:
            node.admin.close()
            if node.process is not None and node.process.poll() is None:
                node.kill()


def _served_by(node: RedisNode, slot: int) -> str:
    with suppress(redis.exceptions.RedisError):
        for first, last, master, *_ in node.run("CLUSTER SLOTS"):
            if int(first) <= slot <= int(last):
                return f"{master[0]}:{master[1]}"
    return ""


def _followed_by(node: RedisNode) -> str | None:
    """Return the name of the node's master; None for a master."""
    for line in str(node.run("CLUSTER", "NODES")).splitlines():
        fields = line.split()
        if "myself" in fields[2]:
            return fields[3] if "slave" in fields[2] else None
    return None


def run_redis_cluster(folder: Path) -> Iterator[RedisNodes]:
    """Yield a running cluster, for a fixture."""
    need_redis()
    servers = RedisNodes(folder)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()
