"""What people type finds what they mean, in every storage."""

from __future__ import annotations

from datetime import timedelta

import pytest

from newsbot.search.query import ArticleFilter
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article


@pytest.fixture
def library(storage: Storage) -> Storage:
    storage.articles.store(make_article("mask", "В аптеках нет дефицита масок.", title="Маски есть", hours=1))
    storage.articles.store(
        make_article("oil", "Цена нефти растёт. О масках ни слова.", title="Нефть", hours=2)
    )
    storage.articles.store(
        make_article("run", "She was running; the masks fell.", title="A race", language="en", hours=3)
    )
    storage.articles.store(
        make_article("cafe", "Café chairs. 北京 is far. Ёлки, йод.", title="Été", language="en", hours=4)
    )
    return storage


def _paths(storage: Storage, query: str, **asked: object) -> list[str]:
    hits = storage.texts.search(query, **asked)  # type: ignore[arg-type]
    return [hit.article.canonical_url.rsplit("/", 1)[1] for hit in hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("маска", {"mask", "oil"}),
        ("МАСКАМИ дефицит", {"mask"}),
        ("маска -нефть", {"mask"}),
        ("title:маска", {"mask"}),
        ("title:нефти", {"oil"}),
        ("TITLE:дефицит", set()),
        ('"дефицит масок"', {"mask"}),
        ('"масок дефицит"', set()),
        ("«дефицита масок»", {"mask"}),
        ("растет", {"oil"}),
        ("runs", {"run"}),
        ("mask", {"run"}),
        ("cafe chair", {"cafe"}),
        ("CAFÉ", {"cafe"}),
        ("елка", {"cafe"}),
        ("иод", set()),
        ("北京", {"cafe"}),
        ("京北", set()),
        ("-маска", {"run", "cafe"}),
        ('-"нет дефицита" -race', {"oil", "cafe"}),
        ("дефициту", {"mask"}),
        ("ничего такого", set()),
    ],
)
def test_search_understands_what_people_type(library: Storage, query: str, expected: set[str]) -> None:
    assert set(_paths(library, query)) == expected


@pytest.mark.parametrize(
    "query",
    [
        *(
            '"',
            '"""',
            "-",
            "--",
            '-"',
            "title:",
            "-title:",
            "title:title:x",
            "🙂",
            "\x00",
            "\ud800",
            "\\",
            "%_",
        ),
        *("*", "(", "^", "+", "a OR", "NOT", "NEAR(", "{title}:", "'; DROP TABLE article;"),
        *("a" * 100_000, "слово " * 5_000, "кредит " * 500, f'"{"кредит " * 500}"'),
    ],
)
def test_any_text_is_a_legal_query(library: Storage, query: str) -> None:
    for by_time in (False, True):
        assert isinstance(library.texts.search(query, by_time=by_time), list)


def test_a_blank_query_finds_all_and_one_without_words_nothing(library: Storage) -> None:
    assert _paths(library, "  ") == ["cafe", "run", "oil", "mask"]
    assert _paths(library, "🙂 !!!") == []


def test_order_limit_and_filter_of_a_search(library: Storage) -> None:
    assert _paths(library, "маски") == ["mask", "oil"]  # the title weighs more
    assert _paths(library, "маски", by_time=True) == ["oil", "mask"]
    assert _paths(library, "маски", limit=1) == ["mask"]
    assert _paths(library, "маски", limit=0) == []
    assert _paths(library, "", where=ArticleFilter(language="en")) == ["cafe", "run"]
    assert _paths(library, "маски", where=ArticleFilter(until=NOON + timedelta(hours=2))) == ["mask"]
    scores = [hit.score for hit in library.texts.search("маски")]
    assert scores[0] > scores[1] > 0


def test_a_snippet_shows_the_matches(library: Storage) -> None:
    assert [hit.snippet for hit in library.texts.search("дефицитом аптека")] == [
        "В [аптеках] нет [дефицита] масок."
    ]
    assert [hit.snippet for hit in library.texts.search("race")] == ["A [race]"]


def test_only_the_present_version_is_found(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Earlier words"))
    storage.articles.store(make_article("a", "Present words"))
    assert _paths(storage, "earlier") == []
    assert _paths(storage, "-earlier") == ["a"]
    assert _paths(storage, "present words") == ["a"]
