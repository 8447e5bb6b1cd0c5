"""What search finds, in every storage: while articles wait to be indexed, afterwards, and in between."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from newsbot.search.index.entry import Entry, entry_of
from newsbot.search.index.indexer import FOLD_AT
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article
from tests.wordmodel import found_by_reading, make_entries, make_queries


def index(storage: Any) -> None:
    """Both storages have it beside the contract of :class:`Storage`."""
    assert storage.texts.index()
    assert storage.texts.waiting() == 0


def paths(storage: Storage, query: str, **asked: Any) -> list[str]:
    hits = storage.texts.search(query, **asked)
    return [hit.article.canonical_url.rsplit("/", 1)[1] for hit in hits]


@pytest.fixture(params=["waiting", "indexed", "both"])
def library(storage: Storage, request: pytest.FixtureRequest) -> Storage:
    """Articles by two people in two languages on two sites."""
    storage.articles.store(
        make_article("bridge", "Мост через реку закрыт.", hours=1, authors=["Анна Иванова", "Пётр Ким"])
    )
    storage.articles.store(make_article("river", "Река вышла из берегов, мост цел.", title="Мост", hours=2))
    if request.param == "both":
        index(storage)
    run: dict[str, Any] = {"source": "run.org", "language": "en", "hours": 30, "authors": ["Anna Kim"]}
    storage.articles.store(make_article("run", "She was running over the bridge.", **run))
    storage.articles.store(
        make_article("undated", "Мосты без даты.", published_at=None, fetched_at=None, source="run.org")
    )
    if request.param == "indexed":
        index(storage)
    return storage


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("мостами", {"bridge", "river", "undated"}),
        ('"мост через реку"', {"bridge"}),
        ('"через мост"', set()),
        ("мост -цел", {"bridge", "undated"}),
        ('мост -"мосты без"', {"bridge", "river"}),
        ("title:мост", {"river"}),
        ("author:иванова", {"bridge"}),
        ('author:"анна иванова"', {"bridge"}),
        ('author:"иванова петр"', set()),  # of two people
        ("author:kim", {"run"}),
        ("site:run.org", {"run", "undated"}),
        ("site:RUN.org мост", {"undated"}),
        ("site:run.org site:example.org мост", {"bridge", "river", "undated"}),
        ("-site:run.org", {"bridge", "river"}),
        ("lang:en", {"run"}),
        ("-lang:ru", {"run"}),
        ("since:2024-05-04", {"run"}),
        ("мост until:2024-05-04", {"bridge", "river"}),
        ("мост since:2025", set()),
        ("lang:en мост", set()),
        ("runs bridges", {"run"}),
    ],
)
def test_fields_phrases_exclusion_and_dates(library: Storage, query: str, expected: set[str]) -> None:
    assert set(paths(library, query)) == expected
    assert set(paths(library, query, by_time=True)) == expected


def test_filters_of_the_caller_narrow_what_the_query_says(library: Storage) -> None:
    assert paths(library, "site:run.org", where=ArticleFilter(source="example.org")) == []
    assert paths(library, "мост", where=ArticleFilter(source="run.org")) == ["undated"]
    late = ArticleFilter(since=NOON + timedelta(hours=1, minutes=30), until=NOON + timedelta(hours=3))
    assert paths(library, "мост", where=late) == ["river"]


def test_filters_without_words_give_the_newest_of_what_is_right(library: Storage) -> None:
    library.articles.store(make_article("late", "Последнее.", source="run.org", language="en", hours=40))
    assert paths(library, "", where=ArticleFilter(source="run.org", language="en")) == ["late", "run"]
    assert paths(library, "", where=ArticleFilter(source="run.org", language="ru")) == ["undated"]
    assert paths(library, "", where=ArticleFilter(source="run.org"), limit=2) == ["late", "run"]
    assert paths(library, "", where=ArticleFilter(language="ru"), limit=2) == ["river", "bridge"]
    early = ArticleFilter(source="run.org", language="en", until=NOON + timedelta(hours=35))
    assert paths(library, "", where=early) == ["run"]


def test_order_by_time_and_by_rank(library: Storage) -> None:
    assert paths(library, "мост", by_time=True) == ["river", "bridge", "undated"]
    assert paths(library, "мост")[0] == "river"  # it is in the title
    assert paths(library, "мост", limit=1, by_time=True) == ["river"]


def test_a_story_is_searched_as_it_is_now(library: Storage) -> None:
    library.stories.assign("https://example.org/bridge", "s", None)
    library.stories.assign("https://run.org/run", "s", None)
    assert paths(library, "мост", where=ArticleFilter(story="s")) == ["bridge"]
    library.stories.assign("https://example.org/river", "s", None)
    assert set(paths(library, "мост", where=ArticleFilter(story="s"))) == {"bridge", "river"}


def test_earlier_versions_are_not_found_and_take_no_place_on_the_page(storage: Storage) -> None:
    for turn in range(40):
        storage.articles.store(make_article("a", f"Слово номер {turn}."))
        if turn % 8 == 0:
            index(storage)
    storage.articles.store(make_article("b", "Слово другое."))
    assert set(paths(storage, "слово", limit=2)) == {"a", "b"}
    assert paths(storage, "39") == ["a"]
    assert paths(storage, "32") == []
    index(storage)
    assert set(paths(storage, "слово", limit=2)) == {"a", "b"}
    assert paths(storage, "32") == []


def test_an_article_whose_versions_were_dropped_is_found_as_it_is_now(storage: Any) -> None:
    for turn in range(3):
        storage.articles.store(make_article("a", f"Слово {turn}."))
        index(storage)
    assert storage.removal.drop_versions(NOON + timedelta(days=1), 10) == 2
    assert paths(storage, "слово 2") == ["a"]
    index(storage)
    assert paths(storage, "слово 2") == ["a"]
    assert paths(storage, "слово", where=None) == ["a"]


def test_removed_articles_are_not_found(storage: Any) -> None:
    storage.articles.store(make_article("a", "Слово одно."))
    index(storage)
    storage.articles.store(make_article("b", "Слово другое."))
    assert storage.removal.articles([f"https://example.org/{name}" for name in "ab"]) == 2
    assert paths(storage, "слово") == []
    storage.articles.store(make_article("a", "Слово снова."))
    index(storage)
    assert paths(storage, "слово") == ["a"]


def test_any_query_finds_what_reading_all_articles_finds(storage: Storage) -> None:
    entries: dict[bytes, Entry] = {}
    for number, made in enumerate(make_entries(7, 120)):
        article = make_article(
            f"{number}",
            f"{made.text} n{number}",
            title=made.title,
            source=made.source,
            language=made.language or None,
            authors=made.authors.split(" , "),
            hours=number,
        )
        key = fingerprint(article.canonical_url)
        storage.articles.store(article)
        entries[key] = entry_of(article, key, 1)
        if number % 11 == 0:
            index(storage)
    for query in make_queries(7, 60):
        found = [fingerprint(hit.article.canonical_url) for hit in storage.texts.search(query, limit=500)]
        assert set(found) == found_by_reading(list(entries.values()), query), query
        assert len(found) == len(set(found))


def test_the_background_indexes_while_articles_are_stored(storage: Any) -> None:
    for number in range(FOLD_AT + 70):
        storage.articles.store(make_article(f"{number}", f"Слово {number}."))
        assert number % 50 or paths(storage, f"{number}") == [f"{number}"]  # at once
    give_up = time.monotonic() + 60
    while storage.texts.waiting() >= FOLD_AT:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    assert paths(storage, "слово 3") == ["3"]
    assert len(storage.texts.search("слово", limit=1000)) == FOLD_AT + 70


def test_closing_while_the_index_is_written_loses_nothing(place: Place) -> None:
    storage: Any = place.open()
    for number in range(FOLD_AT + 1):
        storage.articles.store(make_article(f"{number}", f"Слово {number}."))
    storage.close()
    again: Any = place.open()
    assert len(again.texts.search("слово", limit=1000)) == FOLD_AT + 1
    again.close()
