"""Temporary servers: a redis-server and a mongod on loopback, and the processor time that they use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from testbed.redisserver import RedisServer
from testbed.servers import MongoServer, mongod

TICKS = 100
"""Jiffies per second in /proc, the same on every Linux that Python runs on (USER_HZ)."""


@contextmanager
def own_redis(*options: str) -> Iterator[str]:
    """Run a redis-server with ``options`` as in redis.conf (default: no persistence); yield its URL."""
    with tempfile.TemporaryDirectory(prefix="newsbot-bench-") as folder:
        server = RedisServer(Path(folder), *options)
        try:
            server.start()
        except FileNotFoundError:
            raise SystemExit("needs redis-server (Debian package redis-server)") from None
        try:
            yield server.url
        finally:
            server.kill()


@contextmanager
def own_mongo(kept: Path | None = None) -> Iterator[MongoServer]:
    """Run a replica set of one mongod with a journal. ``kept``: a folder whose data a later run can use."""
    if mongod() is None:
        raise SystemExit("needs mongod: pip install -r requirements-dev.txt, apt-get install libcurl4")
    with tempfile.TemporaryDirectory(prefix="newsbot-bench-") as folder:
        server = MongoServer(kept or Path(folder))
        port = server.folder / "port"  # the configuration of the replica set has this port
        server.port = int(port.read_text()) if port.exists() else server.port
        port.write_text(str(server.port))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def redis_seconds(url: str) -> float:
    """Return the CPU seconds used by a Redis server."""
    with redis.Redis.from_url(url) as client:
        used = client.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def process_seconds(pid: int) -> float:
    """Return the CPU seconds used by a process (proc(5), fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
