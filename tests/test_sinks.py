"""Sinks: other systems get all articles, their changes and removals, at least once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import pytest

from newsbot.apps.followers.following import FollowerRun, Step, rewind, states
from newsbot.apps.sinks.follower import Sink, SinkFollower, read_sinks
from newsbot.apps.sinks.targets import Row, RowsRefused, SinkError
from newsbot.errors import RulesError, UserError
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place
from tests.contracts.storage_samples import make_article
from tests.crawls import ROOT, World
from tests.newssite import serve
from tests.sinkservers import Postgres, Receiver, SearchEngine, object_store, rabbit

psycopg = pytest.importorskip("psycopg")


class House:
    """A storage with one sink."""

    def __init__(self, folder: Path, to: str, **fields: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.storage, self.now = SqliteStorage(folder / "newsbot.db"), 1_795_000_000.0
        self.follower = SinkFollower(
            Sink(name="s", to=to, **fields), lambda _tag: (), folder / "sinks/s-refused.jsonl"
        )
        self.run = FollowerRun(
            "sink:s",
            self.follower,
            self.storage.articles,
            self.storage.notes,
            owner="a",
            clock=lambda: self.now,
        )

    def store(self, *names: str, text: str = "", **fields: Any) -> None:
        for name in names:
            self.storage.articles.store(make_article(name, text or f"Text of {name}.", title=name, **fields))

    def remove(self, name: str) -> None:
        self.storage.removal.articles([f"https://example.org/{name}"])

    def send(self) -> Step:
        while (step := self.run.step()) is Step.TAKEN:
            pass
        return step

    @property
    def fault(self) -> str:
        return states(self.storage.notes)["sink:s"].fault

    def close(self) -> None:
        self.follower.close()
        self.storage.close()


Make = Callable[..., House]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[House] = []

    def one(to: str, **fields: Any) -> House:
        made.append(House(tmp_path, to, **fields))
        return made[-1]

    yield one
    for house in made:
        house.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.remove()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.close()


@pytest.fixture
def engine() -> Iterator[SearchEngine]:
    one = SearchEngine()
    yield one
    one.close()


def table(server: Postgres, name: str) -> dict[str, int]:
    with psycopg.connect(server.uri) as connection:
        return dict(connection.execute(f"SELECT title, version FROM {name}").fetchall())


# --- PostgreSQL
def test_a_table_has_the_current_version_of_each_article(make: Make, postgres: Postgres) -> None:
    house = make(f"{postgres.uri}?table=current")
    house.store("one", "two", "nul\0l")
    assert house.send() is Step.CURRENT
    house.store("one", text="Another text of one.")
    house.remove("two")
    assert house.send() is Step.CURRENT, house.fault
    assert table(postgres, "current") == {"one": 2, "null": 1}
    with psycopg.connect(postgres.uri) as connection:
        query = "SELECT text, published_at, article->>'source' FROM current WHERE title = 'one'"
        text, at, source = connection.execute(query).fetchone()
    article = house.storage.articles.get("https://example.org/one")
    assert article is not None
    assert article.published_at is not None
    whole = article.published_at.replace(microsecond=0)
    assert (text, at, source) == ("Another text of one.", whole, "example.org")


def test_an_older_version_does_not_replace_a_newer_one(make: Make, postgres: Postgres) -> None:
    house = make(f"{postgres.uri}?table=versions")
    target = house.follower.sink.open()
    target.check()
    target.write([Row("k", 3, {"title": "new"})], "a")
    target.write([Row("k", 2, {"title": "old"})], "b")
    assert table(postgres, "versions") == {"new": 3}
    target.write([Row("k", 3, {"title": "rights changed"})], "c")
    assert table(postgres, "versions") == {"rights changed": 3}
    target.close()


def test_a_server_that_was_away_gets_everything(make: Make, tmp_path_factory: pytest.TempPathFactory) -> None:
    server = Postgres(tmp_path_factory.mktemp("away"))
    house = make(server.uri)
    house.store("one")
    house.send()
    server.stop()
    house.store("two")
    assert house.send() is Step.WAITING
    assert house.fault.startswith("PostgreSQL: ")
    server.start()
    house.now += 400
    assert house.send() is Step.CURRENT
    assert table(server, "articles") == {"one": 1, "two": 1}
    server.remove()


def test_an_address_is_read_as_libpq_reads_it(make: Make, postgres: Postgres) -> None:
    house = make(f"{postgres.uri}?table=as_libpq&options=-c%20statement_timeout%3D7000&application_name=a+b")
    target: Any = house.follower.sink.open()
    target.check()
    shown = "SELECT current_setting('statement_timeout'), current_setting('application_name')"
    assert target._connection.execute(shown).fetchone() == ("7s", "a+b")
    target.close()
    socket: Any = Sink(name="s", to="postgresql:///news?host=/run/postgresql&table=here").open()
    found = psycopg.conninfo.conninfo_to_dict(socket._address)
    assert (found["dbname"], found["host"]) == ("news", "/run/postgresql")


def test_texts_with_escapes_and_broken_characters_are_stored(make: Make, postgres: Postgres) -> None:
    house = make(f"{postgres.uri}?table=odd")
    target = house.follower.sink.open()
    names = [r"the escape \u0000 of JSON", "half \ud83d of an emoji", "zero \0 inside"]
    target.write([Row(str(at), 1, {"title": name, "tags": [name]}) for at, name in enumerate(names)], "a")
    with psycopg.connect(postgres.uri) as connection:
        rows = connection.execute("SELECT article->'tags'->>0 FROM odd ORDER BY key").fetchall()
    assert [row for (row,) in rows] == [names[0], "half ? of an emoji", "zero  inside"]
    target.close()


def test_an_article_that_is_stored_again_after_its_removal_replaces_higher_versions(
    make: Make, postgres: Postgres, engine: SearchEngine
) -> None:
    for to in (f"{postgres.uri}?table=again", f"opensearch+http://{engine.place}/again"):
        house = make(to, fields=("title", "text"))
        name = to[:4]
        house.store(name, hours=1)
        house.store(name, text=f"A second text of {name}.", hours=2)
        house.store(name, text=f"A third text of {name}.", hours=3)
        house.send()
        house.remove(name)
        house.store(name, text=f"Stored again {name}.", hours=4)
        assert house.send() is Step.CURRENT, house.fault
        house.close()
    assert [(one["text"], one["version"]) for one in engine.documents.values()] == [("Stored again open.", 1)]
    with psycopg.connect(postgres.uri) as connection:
        assert connection.execute("SELECT text, version FROM again").fetchall() == [("Stored again post.", 1)]


# --- OpenSearch
def test_a_removed_document_can_be_stored_again_at_once(make: Make, engine: SearchEngine) -> None:
    house = make(f"opensearch+http://{engine.place}/news")
    house.store("one")
    house.send()
    house.remove("one")
    house.send()
    house.store("one", text="Stored again.")
    house.send()
    house.store("one", text="And changed.", hours=5)
    assert house.send() is Step.CURRENT, house.fault
    assert [one["text"] for one in engine.documents.values()] == ["And changed."]


def test_an_index_has_one_document_for_each_article(make: Make, engine: SearchEngine) -> None:
    house = make(f"opensearch+http://me:pw@{engine.place}/news")
    house.store("one", "two", "three")
    house.remove("three")
    house.send()
    house.remove("two")
    house.store("one", text="Another text.")
    assert house.send() is Step.CURRENT, house.fault
    assert [(one["title"], one["version"]) for one in engine.documents.values()] == [("one", 2)]
    headers = engine.got[-1][2]
    assert headers["authorization"] == f"Basic {base64.b64encode(b'me:pw').decode()}"
    assert headers["content-type"] == "application/x-ndjson"


def test_what_a_target_refuses_is_kept_and_others_go_on(
    make: Make, engine: SearchEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house = make(f"opensearch+http://{engine.place}/news")
    house.store("one", "poison", "three")
    assert house.send() is Step.CURRENT
    assert sorted(one["title"] for one in engine.documents.values()) == ["one", "three"]
    (row,) = map(json.loads, (tmp_path / "sinks/s-refused.jsonl").read_text().splitlines())
    assert (row["title"], "mapper_parsing_exception" in row["fault"]) == ("poison", True)
    assert "refused=1" in caplog.text
    kept = tmp_path / "sinks/s-refused.jsonl"
    kept.write_bytes(kept.read_bytes()[:-9])  # a process was killed while it wrote
    house.store("poison again", "five")
    assert house.send() is Step.CURRENT
    assert [json.loads(line)["title"] for line in kept.read_text().splitlines()[1:]] == ["poison again"]
    (tmp_path / "sinks.yaml").write_text("- {name: s, to: 'http://a.example/'}\n")
    (tmp_path / "here").mkdir()
    listed = Place(tmp_path / "here").run(
        *("sinks", "refused", "s", "--json"),
        NEWSBOT_DATA=str(tmp_path),
        NEWSBOT_SINKS=str(tmp_path / "sinks.yaml"),
    )
    assert [one["title"] for one in listed.json] == ["poison again"]


def test_a_busy_server_is_asked_again(make: Make, receiver: Receiver) -> None:
    house = make(f"elasticsearch+http://{receiver.place}/news")
    house.store("one")
    receiver.answer = lambda _method, path, _body: (429 if path == "/_bulk" else 200, b"{}")
    assert house.send() is Step.WAITING
    assert "HTTP 429" in house.fault


def test_documents_wait_while_their_index_is_missing(make: Make, engine: SearchEngine) -> None:
    house = make(f"opensearch+http://{engine.place}/news")
    house.store("one")
    answer, engine.made = engine._answer, True

    def without_index(method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if path != "/_bulk":
            return answer(method, path, body)
        error = {"type": "index_not_found_exception", "reason": "no such index [news]"}
        item = {"index": {"_id": "k", "status": 404, "error": error}}
        return 200, json.dumps({"errors": True, "items": [item]}).encode()

    engine.answer = without_index  # the cluster does not create indexes by itself
    assert house.send() is Step.WAITING
    assert "index_not_found_exception" in house.fault
    engine.answer, engine.made = answer, False
    house.now += 400
    assert house.send() is Step.CURRENT, house.fault
    assert engine.made
    assert [one["title"] for one in engine.documents.values()] == ["one"]


def test_an_index_is_created_although_the_server_was_away_at_first(make: Make, engine: SearchEngine) -> None:
    house = make(f"opensearch+http://{engine.place}/news")
    house.store("one")
    engine.answer = lambda *_request: (503, b"")
    assert house.send() is Step.WAITING
    engine.answer = engine._answer
    house.now += 400
    assert house.send() is Step.CURRENT, house.fault
    assert engine.made


@pytest.mark.parametrize(
    "item",
    [{"index": {}}, {"index": 1}, {"index": {"status": 400, "error": "no"}}, {"what": {"status": 500}}],
)
def test_odd_items_of_a_bulk_answer_are_faults(make: Make, engine: SearchEngine, item: Any) -> None:
    house = make(f"opensearch+http://{engine.place}/news")
    engine.answer = lambda *_request: (200, json.dumps({"errors": True, "items": [item]}).encode())
    target = house.follower.sink.open()
    with pytest.raises(SinkError):
        target.write([Row("k", 1, {"title": "t"})], "a")


# --- webhook
def test_a_webhook_gets_signed_batches(
    make: Make, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = b"a secret of 24 bytes ..."
    monkeypatch.setenv("HOOK", f"whsec_{base64.b64encode(key).decode()}")
    (sink,) = sinks(f"- name: s\n  to: http://{receiver.place}/hook\n  secret: $HOOK\n", monkeypatch)
    house = make(sink.to, secret=sink.secret)
    house.store("one", "two")
    house.remove("two")
    assert house.send() is Step.CURRENT
    _method, path, headers, body = receiver.got[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert (path, headers["webhook-signature"]) == ("/hook", f"v1,{right}")
    rows = json.loads(body)["data"]
    assert [(row.get("title"), row.get("removed", False)) for row in rows] == [("one", False), (None, True)]


def test_a_batch_that_is_sent_again_has_the_same_id(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/hook")
    house.store("one")
    receiver.answer = lambda *_request: (503, b"")
    assert house.send() is Step.WAITING
    receiver.answer = lambda *_request: (204, b"")
    house.now += 10
    assert house.send() is Step.CURRENT
    assert len({headers["webhook-id"] for *_, headers, _body in receiver.got}) == 1
    assert len(receiver.got) == 2


def test_a_rewind_sends_new_ids_because_receivers_drop_known_ones(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/hook")
    house.store("one")
    assert house.send() is Step.CURRENT
    assert rewind(house.storage, "sink:s")
    receiver.answer = lambda *_request: (503, b"")
    assert house.send() is Step.WAITING
    receiver.answer = lambda *_request: (204, b"")
    house.now += 10
    assert house.send() is Step.CURRENT
    first, second, again = (headers["webhook-id"] for *_, headers, _body in receiver.got)
    assert first != second == again


def test_a_redirect_is_not_followed(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/hook")
    house.store("one")
    receiver.answer = lambda *_request: (302, b"")
    assert house.send() is Step.WAITING
    assert len(receiver.got) == 1


def test_the_query_of_an_address_is_sent(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/hook?code=t0ken")
    house.store("one")
    assert house.send() is Step.CURRENT
    assert receiver.got[0][1] == "/hook?code=t0ken"


# --- Kafka, RabbitMQ, files
def test_files_of_a_rewind_to_a_date_do_not_replace_other_rows(make: Make, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    house = make(f"file://{tmp_path}/lake", fields=("title",))
    house.store("old", hours=0)
    house.store("new", hours=2)
    house.send()
    article = house.storage.articles.get("https://example.org/new")
    assert article is not None
    assert article.fetched_at is not None
    assert rewind(house.storage, "sink:s", article.fetched_at.timestamp())
    assert house.send() is Step.CURRENT
    rows = dataset.dataset(f"{tmp_path}/lake", partitioning="hive").to_table().to_pylist()
    assert sorted(row["title"] for row in rows) == ["new", "new", "old"]
    assert {str(row["day"]) for row in rows} != {"unknown"}


def test_a_file_that_a_killed_process_left_does_not_disturb_readers(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    house = make(f"file://{tmp_path}/lake")
    house.store("one")
    target: Any = house.follower.sink.open()
    write = target._parquet.write_table

    def killed(_table: Any, path: str, **_more: Any) -> None:
        Path(path).write_bytes(b"PAR1 half")
        raise OSError("killed")

    house.follower._target = target
    monkeypatch.setattr(target._parquet, "write_table", killed)
    assert house.send() is Step.WAITING
    monkeypatch.setattr(target._parquet, "write_table", write)
    house.store("two")  # the next batch has another name
    house.now += 400
    assert house.send() is Step.CURRENT, house.fault
    assert list((tmp_path / "lake").rglob("*.part"))
    found = dataset.dataset(f"{tmp_path}/lake", format="parquet", partitioning="hive").to_table().to_pylist()
    assert sorted(row["title"] for row in found) == ["one", "two"]


@pytest.mark.parametrize("to", ["file://folder/x", "file:folder"])
def test_the_address_of_a_folder_is_absolute(to: str) -> None:
    with pytest.raises(SinkError, match="file:///folder"):
        Sink(name="s", to=to).open()


def test_the_routing_key_names_the_site_whatever_the_fields_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pika")
    target = Sink(name="s", to="amqp://x/?exchange=news").open()
    keys: list[str] = []

    class Channel:
        def basic_publish(self, _exchange: str, key: str, *_rest: Any, **_more: Any) -> None:
            keys.append(key)

    monkeypatch.setattr(target, "_opened", Channel)
    target.write([Row("k", 1, {"title": "t"}, source="paper.example"), Row("l")], "a")
    assert keys == ["articles.paper.example", "articles.removed"]


def test_a_topic_gets_rows_and_tombstones(make: Make) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    house = make("kafka://none/news?test.mock.num.brokers=1")
    house.store("one", "two")
    house.remove("two")
    assert house.send() is Step.CURRENT, house.fault
    target: Any = house.follower._target
    # The consumer asks the brokers of the producer's mock cluster for their addresses.
    brokers = target._producer.list_topics(timeout=10).brokers
    servers = ",".join(f"{one.host}:{one.port}" for one in brokers.values())
    consumer = kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["news"])
    messages = [message for message in consumer.consume(2, timeout=30) if message.error() is None]
    consumer.close()
    values = [None if one.value() is None else json.loads(one.value())["title"] for one in messages]
    assert sorted(map(str, values)) == ["None", "one"]
    assert all(len(one.key()) == 32 for one in messages)


def test_brokers_that_do_not_answer_are_a_fault(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("confluent_kafka")
    monkeypatch.setattr("newsbot.apps.sinks.targets.RESPONSE_TIMEOUT", 1.0)
    house = make("kafka://127.0.0.1:1/news")
    house.store("one")
    assert house.send() is Step.WAITING
    assert house.fault.startswith("Kafka: ")


def test_a_queue_gets_rows_and_confirms_them(make: Make, tmp_path: Path) -> None:
    pika = pytest.importorskip("pika")
    with rabbit(tmp_path) as address:
        house = make(f"{address}?queue=news")
        house.store("one", "two")
        house.remove("two")
        assert house.send() is Step.CURRENT, house.fault
        channel = pika.BlockingConnection(pika.URLParameters(address)).channel()
        got = [channel.basic_get("news", auto_ack=True) for _ in range(3)]
        assert [one[1].type for one in got if one[1] is not None] == ["article", "removed"]
        assert json.loads(got[0][2])["title"] == "one"
        channel.connection.close()
    house.store("three")
    assert house.send() is Step.WAITING
    assert house.fault.startswith("RabbitMQ: ")


@pytest.mark.parametrize("store", ["file", "s3"])
def test_files_by_day_have_all_rows(
    make: Make, tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    fs = pytest.importorskip("pyarrow.fs")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with object_store(tmp_path) as endpoint:
        if store == "file":
            to, files, folder = f"file://{tmp_path}/lake", fs.LocalFileSystem(), f"{tmp_path}/lake"
        else:
            to = f"s3://key:secret@news/lake?endpoint_override={endpoint}&scheme=http&region=us-east-1"
            files = fs.S3FileSystem(
                access_key="key",
                secret_key="secret",
                endpoint_override=endpoint,
                scheme="http",
                region="us-east-1",
            )
            folder = "news/lake"
            with pytest.raises(SinkError, match="the bucket none does not exist"):
                Sink(name="s", to=to.replace("@news", "@none")).open().check()
        house = make(to)
        house.store("one", "two")
        house.store("three", hours=24)
        assert house.send() is Step.CURRENT, house.fault
        house.remove("two")
        assert house.send() is Step.CURRENT
        found = dataset.dataset(folder, filesystem=files, format="parquet", partitioning="hive")
        rows = sorted(found.to_table().to_pylist(), key=lambda row: row["change"])
        assert parquet is not None
        assert [(row["title"], row["removed"]) for row in rows if row["removed"]] == [(None, True)]
        assert sorted(str(row["title"]) for row in rows) == ["None", "one", "three", "two"]
        assert len({str(row["day"]) for row in rows if not row["removed"]}) == 2
        (gone,) = [row["key"] for row in rows if row["removed"]]
        assert gone in [row["key"] for row in rows if row["title"] == "two"]


# --- which articles
def test_an_article_that_no_longer_matches_is_removed(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/", query="bridge", fields=("url", "title"))
    house.store("one", text="The bridge is open.", language="en")
    house.store("two", text="The road is open.", language="en")
    house.send()
    house.store("one", text="The ferry is open again today.", language="en")
    house.send()
    batches = [json.loads(body)["data"] for *_, body in receiver.got]
    assert [[row.get("removed", row.get("title")) for row in rows] for rows in batches] == [
        ["one", True],
        [True],
    ]
    assert set(batches[0][0]) == {"key", "url", "title", "version"}


def test_opt_outs_are_not_sent(make: Make, receiver: Receiver) -> None:
    house = make(f"http://{receiver.place}/", without_ai_opt_outs=True)
    house.store("one")
    house.store("two", rights={"tdm-reservation": "1"})
    house.send()
    (rows,) = [json.loads(body)["data"] for *_, body in receiver.got]
    assert [row.get("title") for row in rows] == ["one", None]


def test_if_all_rows_are_refused_nothing_is_left_out(make: Make, receiver: Receiver, tmp_path: Path) -> None:
    house = make(f"http://{receiver.place}/")
    house.store("one", "two")
    receiver.answer = lambda *_request: (400, b"")
    assert house.send() is Step.WAITING
    assert not (tmp_path / "sinks").exists()


# --- the file
def sinks(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path | None = None) -> list[Sink]:
    path = (folder or Path("/tmp")) / "sinks-under-test.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        return read_sinks({"NEWSBOT_SINKS": str(path)})
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: a\n", "1: write a list of sinks"),
        ("- name: a\n", "1: to: is missing"),
        ("- to: http://a.example/\n", "1: name: is missing"),
        ("- name: a\n  to: postgres//x\n", "2: to: no scheme: unknown kind of address"),
        ("- name: a\n  to: kafca://b/t\n", "2: to: kafca: unknown kind of address (did you mean 'kafka'?)"),
        ("- name: A b\n  to: http://a.example/\n", "1: name: use at most 64 lower-case"),
        ("- name: a\n  to: $NOT_SET\n", "2: to: the environment variable NOT_SET is not set"),
        (
            "- name: a\n  to: http://x/\n  querry: a\n",
            "3: querry: there is no such key (did you mean 'query'?)",
        ),
        ("- name: a\n  to: http://x/\n  fields: [titel]\n", "3: fields: titel: articles have no such field"),
        ("- name: a\n  to: http://x/\n  query: 'lang:'\n", "3: query: "),
        ("- {name: a, to: 'http://x/'}\n- {name: a, to: 'http://y/'}\n", "2: name: a is used twice"),
        ("- {name: a, to: 'file:///x', secret: k}\n", "1: secret: signs requests to http:// and https://"),
        ("- {name: a, to: 'https:///x'}\n", "1: to: has no host"),
        ("- {name: a, to: 'kafka://u:p@/x'}\n", "1: to: has no host"),
        ("- {name: a, to: 'http://x/', to: 'http://y/'}\n", "1: to: is given twice"),
        ("- [\n", ""),
    ],
)
def test_faults_of_the_file_name_the_line(
    text: str, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(RulesError) as caught:
        sinks(text, monkeypatch, tmp_path)
    assert f"sinks-under-test.yaml:{problem}" in str(caught.value)


def test_passwords_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_PASSWORD", "s3/cret@")
    (sink,) = sinks("- name: a\n  to: postgresql://me:$PG_PASSWORD@db.example/news\n", monkeypatch)
    assert sink.address() == "postgresql://me:s3%2Fcret%40@db.example/news"
    assert sink.shown == "postgresql://***@db.example/news"
    fixed = Sink(name="b", to="https://me:pw@hook.example/x?token=t")
    assert fixed.shown == "https://***@hook.example/***"
    odd: Any = Sink(name="d", to="postgresql://me:s3?cret@db.example/news?table=t")
    assert odd.shown == "postgresql://***@db.example/news"
    assert psycopg.conninfo.conninfo_to_dict(odd.open()._address)["password"] == "s3?cret"
    assert Sink(name="e", to="kafka://a:1?x=b@c").shown == "kafka://***@c"
    assert Sink(name="c", to="s3://key:a/b@c@bucket/f").shown == "s3://***@bucket/f"


@pytest.mark.parametrize(
    "to",
    [
        "postgresql://me:s3%cret@db.example/news",
        "postgresql://me:s3/cret@db.example/news",
        "https://me:s3cret@db\u2100.example/",
        "s3://KEY:s3/cret@bucket/folder",
    ],
)
def test_faults_of_an_address_do_not_quote_its_password(to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError) as caught:
        sinks(f"- {{name: a, to: '{to}'}}", monkeypatch)[0].open()
    assert "cret" not in str(caught.value).replace("secret", "")
    assert "s3%" not in str(caught.value)


@pytest.mark.parametrize(
    "to", ["kafka://127.0.0.1:1/t?error_cb=1", "amqp://127.0.0.1:1/v?ssl_options=%7B%27keyfile%27%3A1%7D"]
)
def test_settings_of_clients_that_are_not_texts_are_faults(to: str) -> None:
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("pika")
    with pytest.raises(SinkError):
        Sink(name="a", to=to).open().check()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        if name == "psycopg":
            raise ModuleNotFoundError(name, name=name)
        return import_module(name)

    monkeypatch.setattr("newsbot.apps.optional.import_module", missing)
    with pytest.raises(UserError, match=r"pip install 'newsbot\[postgresql\]'"):
        Sink(name="a", to="postgresql://x/y").open()
    assert issubclass(RowsRefused, SinkError)


# --- crawls and commands
@pytest.fixture
def world(world: World) -> World:
    """A world whose proxy is not asked for the receiver."""
    world.servers = {**world.servers, "no_proxy": "127.0.0.1"}
    return world


def test_a_crawl_sends_its_articles_before_it_ends(site, world, receiver: Receiver) -> None:
    serve(site, world, 3)
    path = world.folder / "sinks.yaml"
    path.write_text(f"- name: hook\n  to: http://{receiver.place}/in\n")
    options = ("-s", f"NEWSBOT_SINKS={path}")
    crawl = world.crawl(*options)
    assert crawl.code == 0, crawl.err
    rows = [row for *_, body in receiver.got for row in json.loads(body)["data"]]
    assert {row["url"] for row in rows} == set(world.urls())
    listed = json.loads(world.scrapy("sinks", "list", "--json", *options).out)
    assert [(one["name"], one["lacks"], one["fault"]) for one in listed] == [("hook", 0, None)]
    receiver.got.clear()
    assert world.scrapy("sinks", "rewind", "hook", *options).code == 0
    again = world.scrapy("sinks", "run", *options)
    assert again.code == 0, again.err
    assert len([row for *_, body in receiver.got for row in json.loads(body)["data"]]) == len(rows)


def test_a_sink_that_is_away_does_not_stop_a_crawl(site, world) -> None:
    serve(site, world, 2)
    path = world.folder / "sinks.yaml"
    path.write_text("- name: hook\n  to: http://127.0.0.1:9/in\n")
    options = ("-s", f"NEWSBOT_SINKS={path}")
    crawl = world.crawl(*options)
    assert crawl.code == 0
    assert len(world.articles()) == 2
    assert "follower=sink:hook fault=127.0.0.1 cannot be reached" in crawl.err
    ran = world.scrapy("sinks", "run", *options)
    assert (ran.code, "cannot be reached" in ran.err) == (1, True)
    assert "Traceback" not in ran.err + crawl.err
    assert world.scrapy("sinks", "check", "hok", *options).code == 2


def test_faults_of_the_file_stop_a_crawl_before_it_begins(site, world) -> None:
    serve(site, world, 1)
    path = world.folder / "sinks.yaml"
    path.write_text("- name: hook\n")
    crawl = world.crawl("-s", f"NEWSBOT_SINKS={path}")
    assert crawl.code == 1
    assert "sinks.yaml:1: to: is missing" in crawl.err
    assert site.seen() == []


State = dict[str, int]


def last(rows: Iterable[dict[str, Any]]) -> State:
    """Return the versions by title after messages in order."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found[row["key"]] = row
    return {row["title"]: row["version"] for row in found.values() if not row.get("removed")}


@contextmanager
def bucket(folder: Path) -> Iterator[tuple[str, Callable[[], State]]]:
    """Run an object store."""
    dataset, fs = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.fs")
    with object_store(folder) as endpoint:
        about = {"endpoint_override": endpoint, "scheme": "http", "region": "us-east-1"}

        def read() -> State:
            files = fs.S3FileSystem(access_key="key", secret_key="secret", **about)
            rows = dataset.dataset("news/lake", format="parquet", filesystem=files).to_table()
            return last(sorted(rows.to_pylist(), key=lambda row: row["change"]))

        yield f"s3://key:secret@news/lake?{urlencode(about)}", read


@contextmanager
def topic() -> Iterator[tuple[str, Callable[[], State]]]:
    """Run the mock cluster of librdkafka in this process."""
    kafka = pytest.importorskip("confluent_kafka")
    cluster = kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1})
    (broker,) = cluster.list_topics(timeout=10).brokers.values()
    servers = f"{broker.host}:{broker.port}"

    def consume() -> State:
        consumer = kafka.Consumer(
            {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["kills"])
        found: dict[bytes, dict[str, Any]] = {}
        while batch := [one for one in consumer.consume(500, timeout=10) if one.error() is None]:
            for one in batch:
                found[one.key()] = json.loads(one.value() or "{}")
        consumer.close()
        return {row["title"]: row["version"] for row in found.values() if row}

    yield f"kafka://{servers}/kills", consume


@contextmanager
def system(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[str, Callable[[], State]]]:
    """Run a system that takes articles; yield its address, and a function that returns what it has."""
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        yield f"{server.uri}?table=kills", lambda: table(server, "kills")
    elif kind == "webhook":
        hook: Receiver = request.getfixturevalue("receiver")
        yield (
            f"http://{hook.place}/",
            lambda: last(row for *_, body in hook.got for row in json.loads(body)["data"]),
        )
    elif kind == "opensearch":
        engine: SearchEngine = request.getfixturevalue("engine")
        yield (
            f"opensearch+http://{engine.place}/news",
            lambda: {one["title"]: one["version"] for one in engine.documents.values()},
        )
    elif kind == "files":
        dataset = pytest.importorskip("pyarrow.dataset")

        def read() -> State:
            rows = dataset.dataset(f"{tmp_path}/lake", format="parquet").to_table().to_pylist()
            return last(sorted(rows, key=lambda row: row["change"]))

        yield f"file://{tmp_path}/lake", read
    elif kind == "s3":
        request.getfixturevalue("monkeypatch").setenv("AWS_EC2_METADATA_DISABLED", "true")
        with bucket(tmp_path) as found:
            yield found
    elif kind == "kafka":
        with topic() as found:
            yield found
    else:
        pika = pytest.importorskip("pika")
        with rabbit(tmp_path) as address:

            def consume() -> State:
                with pika.BlockingConnection(pika.URLParameters(address)) as connection:
                    channel = connection.channel()
                    bodies = iter(lambda: channel.basic_get("kills", auto_ack=True)[2], None)
                    return last(map(json.loads, bodies))

            yield f"{address}?queue=kills", consume


@pytest.mark.parametrize("kind", ["postgresql", "webhook", "opensearch", "files", "s3", "rabbitmq", "kafka"])
def test_nothing_is_lost_or_out_of_date_after_kills(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A process that sends is killed again and again, while articles are stored, changed and removed.

    NEWSBOT_TEST_KILLS sets the number of kills.
    """
    with system(kind, tmp_path, request) as (to, state):
        _kill(tmp_path, to, state, 5 if kind == "postgresql" else 2)


def _kill(tmp_path: Path, to: str, state: Callable[[], State], kills: int) -> None:
    house = House(tmp_path / "data", to)
    path = tmp_path / "sinks.yaml"
    path.write_text(f"- name: s\n  to: {to}\n")
    environment = {**os.environ, "NEWSBOT_DATA": str(tmp_path / "data"), "NEWSBOT_SINKS": str(path)}
    command = [sys.executable, "-m", "newsbot", "sinks", "run", "s"]
    chance, number = random.Random(7), 0
    for _ in range(int(os.environ.get("NEWSBOT_TEST_KILLS", kills))):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, cwd=ROOT)
        for _ in range(150):
            number += 1
            house.store(f"a{number}")
            known = f"a{chance.randrange(1, number + 1)}"
            if number % 3 == 0:
                house.remove(known)
            else:
                house.store(known, text=f"Text {number} of {known}.")
        time.sleep(chance.uniform(0.0, 0.6))
        process.kill()
        process.wait()
    house.run = FollowerRun(
        "sink:s", house.follower, house.storage.articles, house.storage.notes, owner="b", clock=time.time
    )
    for _ in range(70):  # the lease of the killed process ends after a minute
        if house.send() is Step.CURRENT:
            break
        house.run._clock = lambda: time.time() + 120
    stored = {one.title: one.version for one in house.storage.articles.iter()}
    assert state() == stored
    assert len(stored) > number / 2
    house.close()


def test_a_run_waits_while_another_process_numbers_the_changes(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    house = House(tmp_path / "data", f"http://{receiver.place}/")
    house.store("one")
    house.close()
    (tmp_path / "sinks.yaml").write_text(f"- {{name: s, to: 'http://{receiver.place}/'}}\n")
    step, busy = FollowerRun.step, [Step.BUSY] * 3
    monkeypatch.setattr(FollowerRun, "step", lambda self: busy.pop() if busy else step(self))
    places = {"NEWSBOT_DATA": str(tmp_path / "data"), "NEWSBOT_SINKS": str(tmp_path / "sinks.yaml")}
    assert place.run("sinks", "run", **places).code == 0
    assert len(receiver.got) == 1
    monkeypatch.setattr("newsbot.apps.sinks.follower.BUSY_TIMEOUT", 0.0)
    busy.append(Step.BUSY)
    done = place.run("sinks", "run", **places)
    assert (done.code, "numbering the changes" in done.err) == (1, True)


def test_a_run_keeps_a_slow_sink_from_other_processes(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    house = House(tmp_path / "data", f"http://{receiver.place}/")
    house.store("one")
    house.close()
    (tmp_path / "sinks.yaml").write_text(f"- {{name: s, to: 'http://{receiver.place}/'}}\n")
    monkeypatch.setattr("newsbot.apps.followers.following.LEASE", 2.0)
    monkeypatch.setattr("newsbot.apps.sinks.follower.RENEWAL", 0.5)
    left: list[float] = []

    def slow(*_request: Any) -> tuple[int, bytes]:
        time.sleep(4.0)
        with closing(SqliteStorage(tmp_path / "data/newsbot.db")) as storage:
            left.append(states(storage.notes)["sink:s"].until - time.time())
        return 200, b""

    receiver.answer = slow
    places = {"NEWSBOT_DATA": str(tmp_path / "data"), "NEWSBOT_SINKS": str(tmp_path / "sinks.yaml")}
    assert place.run("sinks", "run", **places).code == 0
    assert left[0] > 0
