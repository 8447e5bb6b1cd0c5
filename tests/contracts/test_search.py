"""Search results in every storage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from newsbot.items import ArticleFilter
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article
from tests.searching import find, paths
from tests.wordmodel import found_by_reading, make_articles, make_queries


@pytest.fixture
def library(storage: Storage) -> Storage:
    """Articles by two people in two languages on two sites."""
    storage.articles.store(
        make_article("bridge", "Мост через реку закрыт.", hours=1, authors=["Анна Иванова", "Пётр Ким"])
    )
    storage.articles.store(make_article("river", "Река вышла из берегов, мост цел.", title="Мост", hours=2))
    run: dict[str, Any] = {"source": "run.org", "language": "en", "hours": 30, "authors": ["Anna Kim"]}
    storage.articles.store(make_article("run", "She was running over the bridge.", **run))
    storage.articles.store(
        make_article("undated", "Мосты без даты.", published_at=None, fetched_at=None, source="run.org")
    )
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
        ("река OR running", {"bridge", "river", "run"}),
        ("мост (цел OR даты)", {"river", "undated"}),
        ("мост -(цел OR даты)", {"bridge"}),
        ("мост AND река NOT цел", {"bridge"}),
        ("site:run.org OR title:мост", {"run", "undated", "river"}),
        ("-lang:ru OR цел", {"run", "river"}),
        ("берег*", {"river"}),
        ("закр*", {"bridge"}),
        ('"через рек*"', {"bridge"}),
        ("author:иван*", {"bridge"}),
        ("xyz*", set()),
        ("мост until:yesterday", {"bridge", "river"}),
        ("мост since:yesterday", set()),
    ],
)
def test_fields_phrases_exclusion_and_dates(library: Storage, query: str, expected: set[str]) -> None:
    assert set(paths(library, query)) == expected
    assert set(paths(library, query, by_time=True)) == expected


def test_filters_of_the_caller_restrict_the_query(library: Storage) -> None:
    assert paths(library, "site:run.org", where=ArticleFilter(source="example.org")) == []
    assert paths(library, "мост", where=ArticleFilter(source="run.org")) == ["undated"]
    late = ArticleFilter(since=NOON + timedelta(hours=1, minutes=30), until=NOON + timedelta(hours=3))
    assert paths(library, "мост", where=late) == ["river"]


def test_filters_without_words_return_the_newest_matching_articles(library: Storage) -> None:
    library.articles.store(make_article("late", "Последнее.", source="run.org", language="en", hours=40))
    assert paths(library, "", where=ArticleFilter(source="run.org", language="en")) == ["late", "run"]
    assert paths(library, "", where=ArticleFilter(source="run.org", language="ru")) == ["undated"]
    assert paths(library, "", where=ArticleFilter(source="run.org"), limit=2) == ["late", "run"]
    assert paths(library, "", where=ArticleFilter(language="ru"), limit=2) == ["river", "bridge"]
    early = ArticleFilter(source="run.org", language="en", until=NOON + timedelta(hours=35))
    assert paths(library, "", where=early) == ["run"]


def test_order_by_time_and_by_rank(library: Storage) -> None:
    assert paths(library, "мост", by_time=True) == ["river", "bridge", "undated"]
    assert paths(library, "мост")[0] == "river"  # the word is in the title
    assert paths(library, "мост", limit=1, by_time=True) == ["river"]


def test_search_uses_the_present_story_of_an_article(library: Storage) -> None:
    library.stories.assign("https://example.org/bridge", "s", None)
    library.stories.assign("https://run.org/run", "s", None)
    assert paths(library, "мост", where=ArticleFilter(story="s")) == ["bridge"]
    library.stories.assign("https://example.org/river", "s", None)
    assert set(paths(library, "мост", where=ArticleFilter(story="s"))) == {"bridge", "river"}


def test_earlier_versions_are_not_found_and_do_not_count_for_the_limit(storage: Storage) -> None:
    for turn in range(40):
        storage.articles.store(make_article("a", f"Слово номер {turn}."))
        if turn % 8 == 0:
            assert paths(storage, f"{turn}") == ["a"]
    storage.articles.store(make_article("b", "Слово другое."))
    assert set(paths(storage, "слово", limit=2)) == {"a", "b"}
    assert paths(storage, "39") == ["a"]
    assert paths(storage, "32") == []


def test_an_article_without_its_earlier_versions_is_found_by_its_present_text(storage: Any) -> None:
    for turn in range(3):
        storage.articles.store(make_article("a", f"Слово {turn}."))
        assert paths(storage, "слово") == ["a"]
    assert storage.removal.drop_versions(NOON + timedelta(days=1), 10) == 2
    assert paths(storage, "слово 2") == ["a"]
    assert paths(storage, "слово 1") == []


def test_removed_articles_are_not_found(storage: Any) -> None:
    storage.articles.store(make_article("a", "Слово одно."))
    assert paths(storage, "слово") == ["a"]
    storage.articles.store(make_article("b", "Слово другое."))
    assert storage.removal.articles([f"https://example.org/{name}" for name in "ab"]) == 2
    assert paths(storage, "слово") == []
    storage.articles.store(make_article("a", "Слово снова."))
    assert paths(storage, "слово") == ["a"]
    assert paths(storage, "одно") == []


def test_any_query_finds_what_reading_all_articles_finds(storage: Storage) -> None:
    articles = make_articles(7, 120)
    for article in articles:
        storage.articles.store(article)
    for query in make_queries(7, 60):
        found = [hit.article.canonical_url for hit in find(storage, query, limit=500)]
        assert set(found) == found_by_reading(articles, query), query
        assert len(found) == len(set(found))


def test_an_article_with_a_new_url_is_found_only_under_that_url(storage: Storage) -> None:
    article = make_article("a", "Слово.")
    storage.articles.store(article)
    assert paths(storage, "слово") == ["a"]
    assert storage.articles.readdress(article.canonical_url, article.content_hash, "https://example.org/b")
    assert paths(storage, "слово") == ["b"]


def test_one_article_of_a_story_is_found_with_the_number_of_its_copies(library: Storage) -> None:
    for name in ("bridge", "river"):
        library.stories.assign(f"https://example.org/{name}", "s", None)
    hits = find(library, "мост", by_time=True)
    assert [(hit.article.canonical_url[-5:], hit.copies) for hit in hits] == [("river", 1), ("dated", 0)]
    assert set(paths(library, "мост story:s")) == {"bridge", "river"}
    assert paths(library, "мост story:other") == []
    assert paths(library, "story:s", where=ArticleFilter(story="other")) == []


def test_articles_are_found_by_word_forms_of_their_language(storage: Storage) -> None:
    storage.articles.store(make_article("haus", "Viele Häuser stehen leer.", language="de"))
    storage.articles.store(make_article("maison", "Des crises économiques.", language="fr", hours=1))
    storage.articles.store(make_article("house", "Houses stand empty.", language="en", hours=2))
    assert paths(storage, "Haus") == paths(storage, "hauser") == ["haus"]
    assert paths(storage, '"leere Haus"') == []
    assert paths(storage, '"Haus stehen"') == ["haus"]
    assert paths(storage, "économique") == paths(storage, "economique") == ["maison"]
    assert [hit.snippet for hit in find(storage, "Haus")] == ["Viele [Häuser] stehen leer."]
