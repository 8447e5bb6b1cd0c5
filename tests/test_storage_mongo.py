"""MongoDB: races of many workers, versions of collections, readable documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from newsbot.apps.mongodb.storage import MIGRATIONS, MongoStorage
from newsbot.errors import DataError, SchemaError
from newsbot.items import ArticleFilter, Kind
from newsbot.storage.articles import Verdict
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.urls import fingerprint
from testbed.servers import run_mongo
from tests import warm
from tests.contracts.storage_samples import NOON, make_article, make_page
from tests.searching import find

PROCESSES = 4


@pytest.fixture
def database(mongo_uri: str) -> Iterator[Database[dict[str, Any]]]:
    """A new database for one test."""
    with MongoClient[dict[str, Any]](mongo_uri, tz_aware=True) as client:
        name = f"newsbot_test_{uuid4().hex[:12]}"
        yield client[name]
        client.drop_database(name)


@pytest.fixture
def storage(mongo_uri: str, database: Database[dict[str, Any]]) -> Iterator[MongoStorage]:
    opened = MongoStorage(mongo_uri, database=database.name)
    yield opened
    opened.close()


def at_once(work: Any, *arguments: Any) -> list[Any]:
    """Run ``work(number, barrier, answers, *given)`` in processes; return the content of ``answers``."""
    context = warm.context()
    barrier, answers = context.Barrier(PROCESSES), context.SimpleQueue()
    workers = [
        context.Process(target=work, args=(number, barrier, answers, *arguments))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    got = [answers.get() for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    return got


# --- races

TURNS = 150


def _store(number: int, barrier: Barrier, answers: Any, uri: str, name: str) -> None:
    barrier.wait(60)
    storage = MongoStorage(uri, database=name)  # all processes create the collections at the same time
    verdicts = []
    for turn in range(TURNS):
        article = make_article(f"{turn}/{number}", f"The same text {turn}.")
        barrier.wait(60)
        verdicts.append((turn, str(storage.articles.store(article).verdict)))
    storage.close()
    answers.put(verdicts)


def test_four_processes_store_each_text_once(mongo_uri: str, database: Database[dict[str, Any]]) -> None:
    got = Counter(verdict for verdicts in at_once(_store, mongo_uri, database.name) for verdict in verdicts)
    assert got == Counter({(turn, "new"): 1 for turn in range(TURNS)}) + Counter(
        {(turn, "same_text"): PROCESSES - 1 for turn in range(TURNS)}
    )
    for name in ("articles", "texts"):
        assert database[name].count_documents({}) == TURNS
    assert database["aliases"].count_documents({}) == TURNS * (PROCESSES - 1)


def _update(number: int, barrier: Barrier, answers: Any, uri: str, name: str) -> None:
    storage = MongoStorage(uri, database=name)
    barrier.wait(60)
    answers.put(
        [storage.articles.store(make_article("a", f"Text {number} {turn}.")).version for turn in range(6)]
    )
    storage.close()


def test_versions_written_simultaneously_are_all_kept(
    mongo_uri: str, database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    numbers = [version for versions in at_once(_update, mongo_uri, database.name) for version in versions]
    assert sorted(numbers) == list(range(1, 6 * PROCESSES + 1))
    assert [article.version for article in storage.articles.versions("https://example.org/a")] == sorted(
        numbers
    )
    assert database["texts"].count_documents({}) == 6 * PROCESSES


def _discover(number: int, barrier: Barrier, answers: Any, uri: str, name: str) -> None:
    storage = MongoStorage(uri, database=name)
    for turn in range(40):
        pages = [make_page(f"{turn}/{page}", (f"{number}",), depth=9 - number) for page in range(5)]
        late = make_page("hub", (f"{number}/{turn}",), history=[{"at": float(turn), "event": f"e{number}"}])
        barrier.wait(60)
        storage.pages.discover([*pages, late])
        storage.pages.save([late])
        storage.sites.add([SiteRecord(source="example.org", counters={"dropped.a$b": 1})])
    storage.close()
    answers.put(None)


def test_no_referrer_event_or_count_is_lost_when_processes_write_one_page(
    mongo_uri: str, database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    at_once(_discover, mongo_uri, database.name)
    found = {page.url.removeprefix("https://example.org/"): page for page in storage.pages.iter()}
    hub = found.pop("hub")
    assert len(found) == 40 * 5
    for page in found.values():
        assert sorted(page.referrers) == [f"https://example.org/{number}" for number in range(PROCESSES)]
        assert (page.referrer_count, page.depth) == (PROCESSES, 9 - PROCESSES + 1)
    assert 144 <= hub.referrer_count <= 176  # 160 distinct values, with an error of a few per cent
    assert [event["at"] for event in hub.history] == sorted(event["at"] for event in hub.history)
    latest = {(float(turn), f"e{number}") for turn in range(34, 40) for number in range(PROCESSES)}
    assert latest <= {(event["at"], event["event"]) for event in hub.history}
    assert storage.sites.all()["example.org"].counters == {"dropped.a$b": 40 * PROCESSES}


# --- collections


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, r"storage was written by a newer newsbot.*upgrade"),
        (3, r"storage was written by a build before the first release.*MONGO_URI"),
    ],
)
def test_collections_of_another_version_are_refused(
    mongo_uri: str, database: Database[dict[str, Any]], version: int, message: str
) -> None:
    MongoStorage(mongo_uri, database=database.name).close()
    assert database["schema"].find_one() == {"_id": "storage", "version": max(MIGRATIONS)}
    database["schema"].update_one({"_id": "storage"}, {"$set": {"version": version}})
    with pytest.raises(SchemaError, match=message):
        MongoStorage(mongo_uri, database=database.name)
    kept = database["schema"].find_one()
    assert kept is not None
    assert kept["version"] == version


def test_incomplete_collections_are_completed(
    mongo_uri: str, database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    database["schema"].delete_many({})
    database["articles"].drop_indexes()
    again = MongoStorage(mongo_uri, database=database.name)
    again.articles.store(make_article("a"))
    assert len(find(again, "новость")) == 1
    assert len(database["articles"].index_information()) == 11
    again.close()


def test_data_of_another_program_is_refused_and_not_changed(
    mongo_uri: str, database: Database[dict[str, Any]]
) -> None:
    database["articles"].insert_one({"_id": 1, "mine": True})
    with pytest.raises(SchemaError, match=r"another program \(articles\).*MONGO_URI"):
        MongoStorage(mongo_uri, database=database.name)
    assert database.list_collection_names() == ["articles"]


def test_a_server_without_replica_set_is_refused_with_the_remedy(tmp_path: Path) -> None:
    for server in run_mongo(tmp_path, replica_set=False):
        with pytest.raises(DataError, match=r"replica set.*rs\.initiate\(\)"):
            MongoStorage(server.uri)


def test_a_write_is_acknowledged_by_a_majority_with_journal_unless_the_uri_sets_another_concern(
    mongo_uri: str, database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    concern = storage.handle.at.write_concern.document
    assert (concern["w"], concern["j"]) == ("majority", True)
    mark = "&" if "?" in mongo_uri else "?"
    other = MongoStorage(f"{mongo_uri}{mark}w=1&journal=false", database=database.name)
    concern = other.handle.at.write_concern.document
    assert (concern["w"], concern["j"]) == (1, False)
    other.close()


# --- documents


def test_documents_are_readable(database: Database[dict[str, Any]], storage: MongoStorage) -> None:
    storage.articles.store(make_article("a", "Текст новости.", tags=["x"], modified_at=NOON))
    found = database["articles"].find_one()
    assert found is not None
    assert found["published_at"] == NOON.replace(microsecond=123000)
    assert found["finer"]["published_at"] == 456
    assert (found["canonical_url"], found["tags"]) == ("https://example.org/a", ["x"])
    early = database["articles"].count_documents({"published_at": {"$lt": datetime(2024, 5, 4, tzinfo=UTC)}})
    assert early == 1


def test_times_are_compared_to_the_microsecond(storage: MongoStorage) -> None:
    storage.articles.store(make_article("a"))
    assert storage.articles.count(ArticleFilter(since=NOON)) == 1
    assert storage.articles.count(ArticleFilter(until=NOON)) == 0
    assert storage.articles.count(ArticleFilter(since=NOON.replace(microsecond=123457))) == 0


def test_texts_of_sites_are_never_interpreted_as_operators(storage: MongoStorage) -> None:
    odd = make_page("$x", ("$referrers", "$$ROOT"), server="$server", etag="$$NOW")
    for _ in range(2):
        storage.pages.discover([odd])
    (found,) = storage.pages.iter()
    assert (found.server, found.etag, found.referrers) == ("$server", "$$NOW", odd.referrers)
    storage.pages.discover([make_page("$x", ("$depth",))])
    (found,) = storage.pages.iter()
    assert found.referrers == [*odd.referrers, "https://example.org/$depth"]
    article = make_article("b", "$text", title="$title", extraction={"$a.b\0": "x"})
    storage.articles.store(article)
    kept = storage.articles.get(article.canonical_url)
    assert kept is not None
    assert (kept.title, kept.extraction) == ("$title", {"$a.b": "x"})


def test_search_and_streams_use_their_indexes(
    database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    for number in range(30):
        storage.articles.store(make_article(str(number), f"Слово номер {number}"))
    storage.pages.discover([make_page(str(number)) for number in range(30)])
    database.command("profile", 2)
    find(storage, "слово -двадцать")
    list(storage.pages.iter(site="example.org"))
    list(storage.articles.iter(ArticleFilter(source="example.org")))
    storage.articles.count()
    storage.stories.recent()
    database.command("profile", 0)
    plans = [
        one["planSummary"]
        for one in database["system.profile"].find({"planSummary": {"$exists": True}})
        if not one["ns"].endswith("words_waiting")  # a short list, read completely
    ]
    assert len(plans) >= 5
    assert [plan for plan in plans if "COLLSCAN" in plan] == []


def test_the_cost_of_the_first_due_source_does_not_depend_on_the_number_of_sources(
    database: Database[dict[str, Any]], storage: MongoStorage
) -> None:
    sites = [f"s{number}.org" for number in range(300)]
    storage.sources.save(
        SourceRecord(
            url=f"https://{site}/", source=site, kind=Kind.FEED, failures=number % 5, next_due=float(number)
        )
        for number, site in enumerate(sites)
    )
    database.command("profile", 2)
    first, working = storage.sources.first_due(), storage.sources.first_due(failures=1)
    database.command("profile", 0)
    assert first is not None
    assert working is not None
    assert first.next_due == working.next_due == 0
    examined = [
        one["docsExamined"] for one in database["system.profile"].find({"ns": f"{database.name}.sources"})
    ]
    assert examined == [1, 1]


def test_storing_again_after_a_lost_response_has_no_effect(storage: MongoStorage) -> None:
    article = make_article("a")
    storage.articles.store(article)
    assert storage.articles.store(article).verdict is Verdict.UNCHANGED
    assert storage.articles.store(make_article("b")).verdict is Verdict.SAME_TEXT
    assert storage.articles.store(make_article("b")).verdict is Verdict.SAME_TEXT


def test_only_this_package_and_repositories_of_apps_import_the_driver() -> None:
    root = Path(__file__).resolve().parent.parent / "newsbot"
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"^\s*(from|import) (pymongo|bson)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    others = {name for name in users if not name.startswith("apps/mongodb/")}
    assert others == {"apps/monitor/results_mongodb.py", "apps/transfer/copies_mongodb.py"}


class Commands(CommandListener):
    """Records the read preference of each command."""

    def __init__(self) -> None:
        self.modes: list[tuple[str, str]] = []

    def started(self, event: CommandStartedEvent) -> None:
        mode = event.command.get("$readPreference", {}).get("mode", "primary")
        self.modes.append((event.command_name, mode))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


@pytest.mark.parametrize("stale", [True, False])
def test_only_what_is_shown_follows_the_read_preference_of_the_uri(
    mongo_uri: str, database: Database[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, stale: bool
) -> None:
    seen = Commands()
    client = partial(MongoClient[dict[str, Any]], event_listeners=[seen])
    monkeypatch.setattr("newsbot.apps.mongodb.client.MongoClient", client)
    uri = f"{mongo_uri}?readPreference=secondaryPreferred"
    with closing(MongoStorage(uri, database=database.name, stale=stale)) as storage:
        article = make_article("a")
        storage.articles.store(article)

        def modes(read: Callable[[], object]) -> set[str]:
            seen.modes.clear()
            read()
            return {mode for _, mode in seen.modes}

        articles = storage.articles
        shown: list[Callable[[], object]] = [
            lambda: list(articles.iter()),
            lambda: articles.newest(limit=3),
            articles.count,
            lambda: articles.get(article.canonical_url),
            lambda: articles.versions(article.canonical_url),
            storage.stories.recent,
            lambda: storage.activity.hours(0.0),
            lambda: storage.activity.trends(0.0),
            storage.texts.repeated,
        ]
        for read in shown:
            assert modes(read) == {"secondaryPreferred" if stale else "primary"}
        first: list[Callable[[], object]] = [
            lambda: articles.changes_since(""),
            articles.end_of_changes,
            lambda: storage.notes.all("export"),
            lambda: articles.known([fingerprint(article.canonical_url)]),
            lambda: storage.pages.get([fingerprint(article.canonical_url)]),
            lambda: storage.sources.get("https://a.org/"),
            lambda: storage.stories.current(["x"]),
            lambda: articles.store(article),
        ]
        for read in first:
            assert modes(read) == {"primary"}
