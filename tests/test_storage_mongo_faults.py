"""If MongoDB is down, killed, full or denies access, no acknowledged data is lost, and one line says what to
do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.articles import _store
from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.errors import DataError, DataFull, DataUnavailable
from newsbot.items import Article
from testbed.servers import ROOT_PASSWORD, MongoServer, free_port, run_mongo
from tests.contracts.storage_samples import make_article, make_page, owner_of
from tests.searching import find

QUICK = "&serverSelectionTimeoutMS=500"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    yield from run_mongo(tmp_path_factory.mktemp("faults"), auth=True)


@pytest.fixture
def server(running: MongoServer) -> Iterator[MongoServer]:
    """A server with users that tests may kill; its database is empty at the start."""
    with MongoClient[dict[str, Any]](running.uri) as client:
        client.drop_database("newsbot")
    yield running
    if running.process is None or running.process.poll() is not None:
        running.start()


@pytest.fixture
def storage(server: MongoServer) -> Iterator[MongoStorage]:
    opened = MongoStorage(server.uri + QUICK)
    yield opened
    opened.close()


def one_line(error: DataError, server: MongoServer) -> str:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 400
    assert f"127.0.0.1:{server.port}/newsbot" in text
    assert_no_secret(text)
    return text


def assert_no_secret(text: str) -> None:
    for secret in (ROOT_PASSWORD, "p%40ss", "w/ord", "w%2Ford", "Sekret", "root:"):
        assert secret not in text


# --- killed and down


def _store_until_it_fails(storage: MongoStorage, turn: int, acknowledged: list[Article]) -> None:
    for number in range(100_000):
        article = make_article(f"{turn}/{number}", f"Text {turn} {number}.")
        try:
            storage.articles.store(article)
        except DataUnavailable:
            return
        acknowledged.append(article)


def test_acknowledged_articles_survive_kill_9(server: MongoServer, storage: MongoStorage) -> None:
    acknowledged: list[Article] = []
    for turn in range(4):
        before = len(acknowledged)
        writer = threading.Thread(target=_store_until_it_fails, args=(storage, turn, acknowledged))
        writer.start()
        while len(acknowledged) < before + 40 + 17 * turn and writer.is_alive():
            writer.join(0.01)
        server.kill()
        writer.join(60)
        assert not writer.is_alive()
        server.start()
        for article in acknowledged:
            kept = storage.articles.get(article.canonical_url)
            assert kept == article
            assert owner_of(storage, article.content_hash) == article.canonical_url
        assert len(acknowledged) >= before + 40
    # in each turn, at most one unacknowledged article may be stored too, completely
    assert len(acknowledged) <= storage.articles.count() <= len(acknowledged) + 4
    assert len(find(storage, "text", limit=10_000)) == storage.articles.count()


def test_a_worker_that_died_within_a_transaction_blocks_others_only_temporarily(
    server: MongoServer, storage: MongoStorage
) -> None:
    with MongoClient[dict[str, Any]](server.uri) as dead, dead.start_session() as session:
        dead.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=1)
        session.start_transaction()
        assert _store(dead["newsbot"], make_article("a"), None, (), session).verdict == "new"
        assert storage.articles.store(make_article("b")).verdict == "new"  # the same text
        dead.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=60)
    assert storage.articles.get("https://example.org/a") is None
    assert storage.articles.count() == 1


READS_AND_WRITES: list[Callable[[MongoStorage], object]] = [
    lambda storage: storage.articles.store(make_article("b")),
    lambda storage: storage.articles.get("https://example.org/a"),
    lambda storage: storage.pages.discover([make_page("x")]),
    lambda storage: storage.pages.save([make_page("x")]),
    lambda storage: list(storage.pages.iter()),
    lambda storage: list(storage.articles.iter()),
    lambda storage: find(storage, "text"),
    lambda storage: storage.sites.all(),
]


def test_an_unreachable_server_is_reported_and_used_again_later(
    server: MongoServer, storage: MongoStorage
) -> None:
    storage.articles.store(make_article("a"))
    stream = storage.articles.iter()
    server.kill()
    for work in READS_AND_WRITES:
        with pytest.raises(DataUnavailable, match=r"does not answer; start it") as raised:
            work(storage)
        one_line(raised.value, server)
    with pytest.raises(DataUnavailable):
        next(stream)
    server.start()
    assert storage.articles.store(make_article("a")).verdict == "unchanged"
    for work in READS_AND_WRITES:
        work(storage)
    assert len(list(storage.pages.iter())) == 1


def test_a_server_that_was_never_reachable_is_reported(server: MongoServer) -> None:
    port = free_port()
    with pytest.raises(
        DataUnavailable, match=rf"MongoDB 127\.0\.0\.1:{port}/newsbot: does not answer"
    ) as raised:
        MongoStorage(f"mongodb://user:Sekret1@127.0.0.1:{port}/?serverSelectionTimeoutMS=300")
    assert_no_secret(str(raised.value))


def test_a_write_waits_for_a_short_restart(server: MongoServer) -> None:
    patient = MongoStorage(server.uri + "&serverSelectionTimeoutMS=20000")
    patient.articles.store(make_article("a", "One."))
    server.kill()
    back = threading.Timer(0.3, server.start)
    back.start()
    assert patient.articles.store(make_article("b", "Two.")).verdict == "new"
    back.join()
    assert patient.articles.count() == 2
    patient.close()


# --- users


def test_a_wrong_password_is_reported_in_one_line(server: MongoServer) -> None:
    for uri in (server.uri_of("root", "Sekret2"), server.uri_of("nobody", "Sekret2")):
        with pytest.raises(DataUnavailable, match="refuses user name or password") as raised:
            MongoStorage(uri)
        one_line(raised.value, server)


def test_a_missing_password_is_reported_in_one_line(server: MongoServer) -> None:
    with pytest.raises(DataUnavailable, match="grant it the role readWrite") as raised:
        MongoStorage(f"mongodb://127.0.0.1:{server.port}/")
    one_line(raised.value, server)


def test_a_user_with_read_access_can_read(server: MongoServer, storage: MongoStorage) -> None:
    storage.articles.store(make_article("a"))
    assert len(find(storage, "новости")) == 1  # this search uses write access: it numbers the changes
    with MongoClient[dict[str, Any]](server.uri) as client:
        client.admin.command("createUser", "reader", pwd="Sekret3", roles=[{"role": "read", "db": "newsbot"}])
    reader = MongoStorage(server.uri_of("reader", "Sekret3"))
    assert reader.articles.get("https://example.org/a") == make_article("a")
    assert len(find(reader, "новости")) == 1
    storage.articles.store(make_article("c", "A third text."))  # its change has no number yet
    assert len(reader.articles.changes_since().found) == 1
    for write in (
        lambda: reader.articles.store(make_article("b", "Other.")),
        lambda: reader.pages.discover([make_page("x")]),
        lambda: reader.pages.save([make_page("x")]),
    ):
        with pytest.raises(DataUnavailable, match="grant it the role readWrite") as raised:
            write()
        one_line(raised.value, server)
    reader.close()
    with pytest.raises(DataUnavailable, match="grant it the role readWrite"):
        MongoStorage(server.uri_of("reader", "Sekret3"), database="other")
    assert storage.articles.count() == 2


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "localhost",
        "http://user:Sekret@host/",
        "mongodb://",
        "mongodb://user:Sekret@@host/",
        "mongodb://user:123/Sekret@host/",
        "mongodb://user:12:Sekret@host/",
        "mongodb://user:Sekret@host:port/",
        "mongodb://user:Sekret@host:99999999/",
        "mongodb://user:Sekret@/",
        "mongodb://user:Sekret@host/a b",
        "mongodb://user:Sekret@host/$db",
        "mongodb://user:Sekret@host/?w=0&journal=true",
        "mongodb+srv://user:Sekret@localhost:27017/",
    ],
)
def test_an_invalid_uri_is_reported_in_one_line_without_secrets(uri: str) -> None:
    with pytest.raises(DataUnavailable, match=r"^MONGO_URI: .*mongodb://host.*user:password@") as raised:
        MongoStorage(uri).close()
    assert_no_secret(str(raised.value))
    assert "\n" not in str(raised.value)


# --- full, slow, in an election: with the server's own error codes


def test_an_election_is_reported_and_ends(server: MongoServer, storage: MongoStorage) -> None:
    storage.articles.store(make_article("a"))
    with MongoClient[dict[str, Any]](server.uri) as client:
        client.admin.command("replSetStepDown", 3, secondaryCatchUpPeriodSecs=0, force=True)
    with pytest.raises(DataUnavailable, match="does not answer") as raised:
        storage.articles.store(make_article("b", "Other."))
    one_line(raised.value, server)
    patient = MongoStorage(server.uri + "&serverSelectionTimeoutMS=30000")
    assert patient.articles.store(make_article("b", "Other.")).verdict == "new"
    assert patient.articles.count() == 2
    patient.close()


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (14031, DataFull, "disk is full; free some space"),
        (50, DataUnavailable, "too slowly"),
        (13, DataUnavailable, "readWrite"),
        (1, DataError, "127.0.0.1"),
    ],
)
def test_errors_of_the_server_are_reported_without_partial_changes(
    server: MongoServer, storage: MongoStorage, code: int, kind: type[DataError], text: str
) -> None:
    for command in ("findAndModify", "commitTransaction"):
        with server.failing(code, command), pytest.raises(kind, match=text) as raised:
            storage.articles.store(make_article("a"))
        one_line(raised.value, server)
        assert storage.articles.count() == 0
        assert owner_of(storage, make_article("a").content_hash) is None
    with server.failing(code, "update"), pytest.raises(kind, match=text):
        storage.pages.discover([make_page("x")])
    assert list(storage.pages.iter()) == []
    assert storage.articles.store(make_article("a")).verdict == "new"
