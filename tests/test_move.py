"""Moving a crawl to servers and back: all data arrives, even after kills, and gives the same answers."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from newsbot.apps.demo.check import compare
from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.monitor.results import SearchResult, checks_of, searches_of
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.apps.search.phrases import Position
from newsbot.apps.transfer.copies import copies_of
from newsbot.apps.transfer.copies_mongodb import MongoCopies
from newsbot.crawl.entries import entry_again
from newsbot.frontier.base import ASIDE, Entry, owner_name
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind
from newsbot.storage.base import Poll, SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer, need_redis
from tests import warm
from tests.commandline import ROOT, Answer, Place
from tests.contracts.storage_samples import make_article, make_page
from tests.crawls import World
from tests.searching import find

SITES = ("example.org", "другой.example")
ARTICLES = 30


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    need_redis()
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def uri(mongo_uri: str) -> Iterator[str]:
    """The URI of a database for one test."""
    name = f"newsbot_test_{secrets.token_hex(6)}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}?{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


@pytest.fixture
def place(tmp_path: Path, redis_server: RedisServer, uri: str) -> Place:
    """A data file with data of all kinds, and empty servers."""
    place = Place(tmp_path)
    place.servers = [f"--to-redis={redis_server.url}", f"--to-mongo={uri}"]
    place.at_servers = {"REDIS_URL": redis_server.url, "MONGO_URI": uri}
    with place.storage() as storage, place.frontier() as frontier:
        fill(storage, frontier)
    return place


def fill(storage: SqliteStorage, frontier: SqliteFrontier) -> None:
    storage.notes.save("hub", "https://hub.example/", {"until": 12.5})
    storage.sources.log_poll(
        "https://example.org/feed", Poll(at=1_795_000_000, new=3, shown=20, size=999, unchanged=False)
    )
    for number in range(ARTICLES):
        source = SITES[number % 2]
        storage.articles.store(make_article(f"a{number}", f"Text number {number}. " * 20, source=source))
    for version in range(35):  # more versions than are kept
        storage.articles.store(make_article("changing", f"Version {version} of a text", hours=version))
    storage.articles.store(make_article("elsewhere", "Text number 0. " * 20))
    storage.stories.assign("https://example.org/a2", "https://example.org/a0", "https://example.org/a0")
    pages = [make_page(f"a{number}", source=SITES[number % 2], state="done") for number in range(ARTICLES)]
    pages[0].referrers = [f"https://example.org/{n}" for n in range(60)]
    for number, page in enumerate(pages):
        page.last_fetched, page.next_due = time.time() - 50, time.time() + 1000 * number
        page.history = [{"at": 1.25, "event": "discovered", "where": "feed", "why": "item"}]
    storage.pages.discover(pages)
    storage.pages.save(pages)
    queue(frontier, [entry_again(page) for page in pages])
    waiting = [make_page(f"waiting-{number}", first_seen=time.time()) for number in range(20)]
    storage.pages.discover(waiting)
    frontier.add([replace(entry_again(page), priority=55.0) for page in waiting])
    storage.sources.save([SourceRecord(url="https://example.org/rss", source=SITES[0], kind=Kind.FEED)])
    found = Position(start=5, end=9, line=1, before="Text ", found="number")
    for name in ("one", "two"):
        searches_of(storage).save(
            [
                SearchResult(
                    search=name,
                    text="number",
                    url=f"https://{site}/a",
                    source=site,
                    looked_at=7.5,
                    positions=(found,),
                )
                for site in SITES
            ]
        )
    storage.sites.add(
        [SiteRecord(source=SITES[0], counters={"fetched": 9, "errors/a.b$c": 2}, last_article=5.0)]
    )


def queue(frontier: SqliteFrontier, entries: list[Entry]) -> None:
    """Fetch all entries; some fail temporarily, one permanently."""
    frontier.set_politeness("example.org", delay=0, concurrency=500)
    frontier.add([replace(entry, due=0.0) for entry in entries])
    leases = frontier.lease("w", 500, horizon=0.0, ttl=600)
    assert len(leases) == len(entries)
    for number, lease in enumerate(leases):
        if number in (3, 4):
            frontier.nack(lease, delay=500, aside=number == 4)
        else:
            frontier.ack(lease, next_due=None if number % 3 else time.time() + 1000 * number)
    frontier.set_politeness("example.org", delay=2.5, concurrency=3)


def go(place: Place, *words: str, **settings: str) -> Answer:
    return place.run("move", *words, **settings)


def copies(storage: Any) -> dict[str, list[Any]]:
    return {kind: list(copies_of(storage).read(kind)) for kind in ("articles", "texts", "aliases")}


def of_file(folder: Path) -> dict[str, Any]:
    """Return all data of a data file."""
    with closing(SqliteStorage(folder / "newsbot.db")) as storage:
        return {
            **copies(storage),
            "pages": sorted(storage.pages.iter(), key=lambda page: page.fingerprint),
            "bitmaps": [copy.bitmap for copy in copies_of(storage).read("pages")],
            "sources": storage.sources.all(),
            "results": [
                {result.url: result for result in searches_of(storage).results(one.search)}
                for one in searches_of(storage).all()
            ],
            "checks": {page.url: page for page in checks_of(storage).iter()},
            "sites": storage.sites.all(),
            "found": {hit.article.canonical_url for hit in find(storage, "text number", limit=100)},
            "versions": storage.articles.versions("https://example.org/changing"),
            "books": sorted(map(repr, copies_of(storage).read("books"))),
        }


def test_moving_to_servers_and_back_changes_no_data(
    place: Place, tmp_path: Path, redis_server: RedisServer
) -> None:
    there = go(place, *place.servers)
    assert there.code == 0, there.err
    rows = {row[0]: row[1:] for row in there.rows}
    assert rows["articles"][0] == rows["articles"][1] == str(ARTICLES + 1)
    assert set(rows) == {
        "pages",
        "articles",
        "texts",
        "aliases",
        "sources",
        "sites",
        "search results",
        "checks",
        "notes and polls",
        "queue",
    }
    home = go(place, f"--to-file={tmp_path / 'home'}", **place.at_servers)
    assert home.code == 0, home.err
    assert of_file(tmp_path / "home") == of_file(place.data)
    assert len(of_file(place.data)["versions"]) == 31
    keys = [page.fingerprint for page in of_file(place.data)["pages"]]
    with place.frontier() as before, closing(SqliteFrontier(tmp_path / "home/newsbot.db")) as after:
        states = [
            {key: one.state for key, one in frontier.known(keys).items()} for frontier in (before, after)
        ]
        assert states[0] == states[1]
        assert set(states[0].values()) == {"pending", "done", "aside"}
        assert [entry.data[ASIDE] for entry in after.aside(9)] == [
            entry.data[ASIDE] for entry in before.aside(9)
        ]
        (host,) = [host for host in after.copy_hosts() if host.host == "example.org"]
        assert (host.delay, host.concurrency) == (2.5, 3)
        waiting = [
            entry.priority for entry in (after.entry(key) for key in keys) if entry and "waiting" in entry.url
        ]
        assert waiting == [55.0] * 20
    with closing(RedisFrontier(redis_server.url)) as frontier:
        assert frontier.refill("w", ttl=1).until is not None, "a worker must not have to refill the queue"


def test_a_move_killed_at_any_moment_continues(place: Place, uri: str, redis_server: RedisServer) -> None:
    with place.storage() as storage:
        storage.pages.discover([make_page(f"many/{number}") for number in range(6000)])
    command = [sys.executable, "-m", "scrapy", "move", *place.servers]
    process = warm.Popen[bytes](
        command, cwd=ROOT, env={**os.environ, **place.environment}, stderr=subprocess.PIPE
    )
    journal = place.data / "move.json"
    while not journal.exists() or not json.loads(journal.read_text())["done"]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    moved = json.loads(journal.read_text())["done"]["pages"]
    assert 0 < moved < 6050
    again = go(place, "--json", *place.servers)
    assert again.code == 0, again.err
    assert again.json["same"] is True
    assert all(kind["source"] == kind["target"] for kind in again.json["kinds"])
    with closing(MongoStorage(uri)) as storage:
        assert sum(1 for _ in storage.pages.iter()) == 6000 + ARTICLES + 20
    third = go(place, *place.servers)
    assert third.code == 0
    assert "was already moved" in third.err
    assert go(place, "--json", *place.servers).json["same"] is True


def test_a_move_killed_before_its_first_note_continues(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write = MongoCopies.write

    def killed(copies: MongoCopies, kind: str, some: Sequence[Any]) -> None:
        write(copies, kind, some)
        raise KeyboardInterrupt

    with monkeypatch.context() as first:
        first.setattr(MongoCopies, "write", killed)
        assert go(place, *place.servers).code != 0
    again = go(place, *place.servers)
    assert again.code == 0, again.err


def test_a_sample_can_be_moved_to_a_file(place: Place, tmp_path: Path) -> None:
    assert go(place, *place.servers).code == 0
    site = go(place, f"--to-file={tmp_path / 'site'}", f"--sites={SITES[1]}", **place.at_servers)
    assert site.code == 0, site.err
    with closing(SqliteStorage(tmp_path / "site/newsbot.db")) as storage:
        assert {article.source for article in storage.articles.iter()} == {SITES[1]}
        assert {page.source for page in storage.pages.iter()} == {SITES[1]}
        assert storage.articles.count() == ARTICLES // 2
    wrong = go(place, f"--to-file={tmp_path / 'wrong'}", "--sites=exampel.org", **place.at_servers)
    assert (wrong.code, "has no stored pages (did you mean 'example.org'?)" in wrong.err) == (2, True)
    assert not (tmp_path / "wrong").exists()
    few = go(place, f"--to-file={tmp_path / 'few' / 'newsbot.db'}", "--max-articles=5", **place.at_servers)
    assert few.code == 0, few.err
    with closing(SqliteStorage(tmp_path / "few/newsbot.db")) as storage:
        assert storage.articles.count() == 5
        assert len(list(storage.pages.iter())) <= 5
    with closing(SqliteFrontier(tmp_path / "few/newsbot.db")) as frontier:
        assert frontier.counts()["pending"] == 0
    recent = go(place, f"--to-file={tmp_path / 'recent'}", "--since=2024-05-03T20:00", **place.at_servers)
    assert recent.code == 0, recent.err
    with closing(SqliteStorage(tmp_path / "recent/newsbot.db")) as storage:
        assert [article.canonical_url for article in storage.articles.iter()] == [
            "https://example.org/changing"
        ]


@pytest.mark.parametrize("killed", [True, False])
def test_a_crawl_started_in_the_file_ends_on_the_servers(
    tmp_path: Path, redis_server: RedisServer, uri: str, killed: bool
) -> None:
    with DemoServer(tmp_path / "rules", articles=60) as site:
        world = World(tmp_path, site)
        world.rules = site.rules
        worker = world.start()
        while len(site.log) < 80:
            assert worker.poll() is None
            time.sleep(0.005)
        worker.send_signal(signal.SIGKILL if killed else signal.SIGTERM)
        worker.communicate()
        servers = {"REDIS_URL": redis_server.url, "MONGO_URI": uri}
        command = [sys.executable, "-m", "scrapy", "move", "--to-redis", "--to-mongo"]
        moved = warm.run(command, cwd=ROOT, env=world.environment(**servers))
        assert moved.returncode == 0, moved.stderr
        with world.storage() as storage:
            stored = {article.canonical_url for article in storage.articles.iter()}
        world.servers = servers
        crawl = world.crawl()
        assert crawl.code == 0, crawl.err
        with closing(MongoStorage(uri)) as storage:
            report = compare(storage.articles.iter(), site.manifest)
            assert report.ok, report.faults
    assert stored
    fetched = Counter(
        (record.host, record.path)
        for record in site.log
        if record.kind == "article" and record.whole and record.status == 200
    )
    again = sum(times - 1 for times in fetched.values())
    assert again <= (32 if killed else 0), "only pages in flight at the kill may be fetched again"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "--to-redis URL, --to-mongo URI"),
        (["--to-redis"], 2, "--to-redis: give an address, or set REDIS_URL"),
        (["--to-redis=redis://127.0.0.1:1/", "--sites=a"], 2, "work only with --to-file"),
        (["--to-file=x", "--to-mongo=mongodb://127.0.0.1/"], 2, "cannot be combined with"),
        (["--to-file=x"], 2, "set REDIS_URL and MONGO_URI"),
        (["--to-redis=redis://user:secret@127.0.0.1:1/"], 1, "redis://127.0.0.1:1/: cannot be reached"),
        (["--to-mongo=mongodb://127.0.0.1:1/", "--since=7d"], 2, "work only with --to-file"),
        (["--to-file=x", "--until=soon"], 2, "'soon' is not a date"),
        (["--to-mongo=mongodb://user:secret@127.0.0.1:1/?serverSelectionTimeoutMS=99"], 1, "127.0.0.1:1"),
        (["--to-redis=nonsense://x"], 1, "cannot be used"),
        (["--to-file=x", "--max-articles=0"], 2, "not a whole number above 0"),
    ],
)
def test_impossible_moves_are_reported_in_one_line(
    tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    place = Place(tmp_path)
    with place.storage():
        answer = go(place, *words, REDIS_URL="", MONGO_URI="")
    assert answer.code == code
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert "secret" not in answer.err


def test_a_move_that_would_mix_or_lose_data_is_refused(place: Place, tmp_path: Path) -> None:
    empty = Place.__new__(Place)
    empty.folder, empty.data, empty.rules = tmp_path, tmp_path / "nothing", place.rules
    answer = go(empty, *place.servers)
    assert (answer.code, "does not exist; set NEWSBOT_DATA" in answer.err) == (1, True)
    with place.frontier() as frontier:
        owner = owner_name(time.time())  # this process, which is alive
        frontier.add([replace(entry_again(make_page("free")), host="free.example")])
        (lease,) = frontier.lease(owner, 1, horizon=time.time(), ttl=600)
        answer = go(place, *place.servers)
        assert (answer.code, "a crawl is still using the data" in answer.err) == (1, True)
        frontier.release(owner)
        assert lease
    assert go(place, *place.servers).code == 0
    (place.data / "move.json").unlink()
    answer = go(place, *place.servers)
    assert (answer.code, "the target already contains data" in answer.err) == (1, True)
    home = tmp_path / "home"
    assert go(place, f"--to-file={home}", **place.at_servers).code == 0
    other = go(place, f"--to-file={home}", "--max-articles=3", **place.at_servers)
    assert (other.code, "the target already contains data" in other.err) == (1, True)
    unfinished = json.loads((home / "move.json").read_text()) | {"finished": None}
    (home / "move.json").write_text(json.dumps(unfinished))
    other = go(place, f"--to-file={home}", "--max-articles=3", **place.at_servers)
    assert (other.code, "another move was started here" in other.err) == (1, True)
    (home / "move.json").write_text("torn")
    torn = go(place, f"--to-file={home}", **place.at_servers)
    assert (torn.code, "move.json: cannot be read" in torn.err) == (1, True)
    (tmp_path / "flat").touch()
    flat = go(place, f"--to-file={tmp_path / 'flat' / 'home'}", **place.at_servers)
    assert (flat.code, flat.err.count("\n"), "cannot be" in flat.err) == (1, 1, True)
    same = go(place, f"--to-file={place.data}", **place.at_servers)
    assert (same.code, "is the data folder of this crawl" in same.err) == (2, True)


def test_a_difference_is_found_and_reported(place: Place, uri: str) -> None:
    assert go(place, *place.servers).code == 0
    journal = place.data / "move.json"
    kept = json.loads(journal.read_text())
    journal.write_text(json.dumps(kept | {"finished": None}))
    with closing(MongoStorage(uri)) as storage:
        storage.articles.store(make_article("a1", "Changed meanwhile", source=SITES[1], hours=3))
    answer = go(place, *place.servers)
    assert answer.code == 1
    assert "source and target differ in: articles, texts" in answer.err
