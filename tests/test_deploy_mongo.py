"""The set-up of MongoDB in ``deploy/``, on a new server without a replica set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.items import Article
from testbed.servers import ROOT_PASSWORD, MongoServer, need_mongod
from tests.crawls import ROOT
from tests.replicated import wait_until


class FreshServer(MongoServer):
    """Creates root on a server without a replica set, like the image; restarts with an uninitiated one."""

    def begin(self) -> None:
        self.replica_set = False
        self.start()
        assert self.process is not None
        self.process.terminate()  # not killed: without a replica set, the server could lose the user
        self.process.wait(30)
        self.replica_set = True
        self.start()

    def _initiate(self, client: MongoClient[dict[str, Any]]) -> None:
        pass

    def _ready(self) -> bool:
        if not self.replica_set:
            return super()._ready()
        with MongoClient[dict[str, Any]](
            "127.0.0.1", self.port, directConnection=True, serverSelectionTimeoutMS=200
        ) as client:
            try:
                return bool(client.admin.command("ping")["ok"])
            except ConnectionFailure:
                return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshServer]:
    need_mongod()
    server = FreshServer(tmp_path_factory.mktemp("mongo"), auth=True)
    try:
        server.begin()
        yield server
    finally:
        server.stop()


def set_up(server: MongoServer, **changes: str) -> subprocess.CompletedProcess[str]:
    defaults = {
        "MONGO_PLACE": f"127.0.0.1:{server.port}",
        "MONGO_ROOT_PASSWORD": ROOT_PASSWORD,
        "MONGO_PASSWORD": "secret",
    }
    return subprocess.run(
        [sys.executable, ROOT / "deploy/mongo_setup.py"],
        env={**os.environ, **defaults, **changes},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def uri(server: FreshServer, password: str) -> str:
    return f"mongodb://newsbot:{password}@127.0.0.1:{server.port}/newsbot?authSource=newsbot&replicaSet=rs0"


def article() -> Article:
    return Article(
        url="https://example.org/1",
        canonical_url="https://example.org/1",
        source="example.org",
        title="Bridge",
        text="The bridge is open.",
        fetched_at=datetime(2026, 11, 21, tzinfo=UTC),
        content_hash="1",
    )


def test_the_setup_of_a_new_server_can_be_repeated(server: FreshServer) -> None:
    for password in ("first", "second", "second"):
        done = set_up(server, MONGO_PASSWORD=password)
        assert done.returncode == 0, done.stderr
        with closing(MongoStorage(uri(server, password))) as storage:
            storage.articles.store(article())
            assert storage.articles.count() == 1


def test_the_user_has_access_only_to_its_own_database(server: FreshServer) -> None:
    assert set_up(server).returncode == 0
    with MongoClient[dict[str, Any]](uri(server, "secret")) as client:
        for forbidden in (
            lambda: client["other"]["things"].insert_one({}),
            client["other"]["things"].find_one,
            lambda: client.admin.command("shutdown"),
            lambda: client["newsbot"].command("createUser", "more", pwd="x", roles=["root"]),
        ):
            with pytest.raises(OperationFailure, match="not authorized"):
                forbidden()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"MONGO_ROOT_PASSWORD": "wrong"}, "Authentication failed"),
        ({"MONGO_PASSWORD": ""}, "set MONGO_PASSWORD"),
    ],
)
def test_an_error_is_one_line_without_secrets(
    server: FreshServer, changes: dict[str, str], message: str
) -> None:
    done = set_up(server, **changes)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert message in line
    assert ROOT_PASSWORD not in line


def test_three_members_are_set_up_as_documented(tmp_path: Path) -> None:
    """The user is created, no matter which member is the primary."""
    need_mongod()
    members = [MongoServer(tmp_path / str(number), auth=True) for number in range(3)]
    places = [f"127.0.0.1:{member.port}" for member in members]
    try:
        for member in members:
            member.launch()
        for member in members:
            with MongoClient[dict[str, Any]]("127.0.0.1", member.port, directConnection=True) as client:
                client.admin.command("ping")
        with MongoClient[dict[str, Any]]("127.0.0.1", members[0].port, directConnection=True) as client:
            config = [{"_id": number, "host": place} for number, place in enumerate(places)]
            quick = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": config, "settings": quick})
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"], "no primary")
            client.admin.command("createUser", "root", pwd=ROOT_PASSWORD, roles=["root"])
        with MongoClient[dict[str, Any]](members[0].uri, directConnection=True) as client:
            wait_until(lambda: client.admin.command("replSetStepDown", 60), "the others do not follow")
        done = set_up(members[0], MONGO_PLACE=",".join(places))
        assert done.returncode == 0, done.stderr
        named = f"mongodb://newsbot:secret@{','.join(places)}/newsbot?authSource=newsbot&replicaSet=rs0"
        with closing(MongoStorage(named)) as storage:
            storage.articles.store(article())
            assert storage.articles.count() == 1
    finally:
        for member in members:
            member.stop()
