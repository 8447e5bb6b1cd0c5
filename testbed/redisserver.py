"""A real Redis server for tests: started at the first use, stopped at the end.

``NEWSBOT_TEST_REDIS_URL`` names a server to use instead. Without it and without ``redis-server`` (Debian
package ``redis-server``), tests that need a server are skipped; if ``CI`` is set, they fail.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from testbed.servers import free_port

REDIS_URL = "NEWSBOT_TEST_REDIS_URL"


class RedisServer:
    """A redis-server on a free port; ``options`` as in redis.conf."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server on the same port and folder as before, and wait until it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--save", "", *self.options], stdout=log, stderr=subprocess.STDOUT
            )
        for _ in range(200):
            with redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0)) as client:
                try:
                    client.ping()
                    return
                except redis.exceptions.AuthenticationError:
                    return
                except redis.exceptions.ConnectionError:
                    time.sleep(0.05)
            if self._process.poll() is not None:
                break
        self.kill()
        raise RuntimeError((self.folder / "redis.log").read_text())

    def signal(self, number: int) -> None:
        """Send a signal to the server (SIGSTOP: it hangs, SIGCONT: it continues)."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the server (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def missing(what: str) -> NoReturn:
    """Skip the test; if CI is set, fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, so this run would not test anything")
    pytest.skip(f"{what} is missing")


def need_redis() -> None:
    """Skip or fail the test if redis-server is not installed."""
    if shutil.which("redis-server") is None:
        missing("redis-server (Debian package redis-server)")


@cache
def _own_redis() -> str:
    folder = tempfile.TemporaryDirectory(prefix="newsbot-redis-")
    server = RedisServer(Path(folder.name))
    server.start()
    atexit.register(folder.cleanup)
    atexit.register(server.kill)
    os.environ[REDIS_URL] = server.url  # processes that tests start use the same server
    return server.url


def redis_url() -> str:
    """Return the URL of the server that all tests share. Each test uses its own namespace."""
    url = os.environ.get(REDIS_URL)
    if url:
        return url
    need_redis()
    return _own_redis()
