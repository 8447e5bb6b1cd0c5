"""The query language of the search, in every storage."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from newsbot.apps.search.articles import ArticleSearch
from newsbot.items import ArticleFilter
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article
from tests.searching import find, paths


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
    assert set(paths(library, query)) == expected


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
        assert isinstance(find(library, query, by_time=by_time), list)


def test_a_blank_query_finds_all_articles_and_one_without_words_finds_none(library: Storage) -> None:
    assert paths(library, "  ") == ["cafe", "run", "oil", "mask"]
    assert paths(library, "🙂 !!!") == []


def test_order_limit_and_filter_of_a_search(library: Storage) -> None:
    assert paths(library, "маски") == ["mask", "oil"]  # a match in the title weighs more
    assert paths(library, "маски", by_time=True) == ["oil", "mask"]
    assert paths(library, "маски", limit=1) == ["mask"]
    assert paths(library, "маски", limit=0) == []
    assert paths(library, "", where=ArticleFilter(language="en")) == ["cafe", "run"]
    assert paths(library, "маски", where=ArticleFilter(until=NOON + timedelta(hours=2))) == ["mask"]
    scores = [hit.score for hit in find(library, "маски")]
    assert scores[0] > scores[1] > 0


def test_a_snippet_shows_the_matches(library: Storage) -> None:
    assert [hit.snippet for hit in find(library, "дефицитом аптека")] == ["В [аптеках] нет [дефицита] масок."]
    assert [hit.snippet for hit in find(library, "race")] == ["A [race]"]


def test_only_the_present_version_is_found(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Earlier words"))
    storage.articles.store(make_article("a", "Present words"))
    assert paths(storage, "earlier") == []
    assert paths(storage, "-earlier") == ["a"]
    assert paths(storage, "present words") == ["a"]


def test_a_tag_selects_the_sites_that_have_it_now(storage: Storage, tmp_path: Path) -> None:
    for site in ("north.example", "south.example", "world.example"):
        storage.articles.store(make_article(site, f"A bridge, said {site}", source=site))
    tags = {"regional": ["north.example", "south.example"], "many": [f"s{n}.example" for n in range(3000)]}
    with closing(
        ArticleSearch(tmp_path / "search.db", storage.articles, lambda tag: tags.get(tag, []))
    ) as search:

        def found(query: str) -> set[str]:
            return {hit.article.source for hit in search.find(query, patience=60.0)}

        assert found("bridge tag:regional") == {"north.example", "south.example"}
        assert found("bridge -TAG:Regional") == {"world.example"}
        assert found("tag:regional site:north.example") == {"north.example"}
        assert found("bridge tag:many") == found("tag:unknown") == set()
        assert search.explain("tag:unknown", found=False)[0] == (
            "tag:unknown: no site has this tag; tags are in the rules of sites (key tags)"
        )
        tags["regional"].remove("south.example")
        assert found("bridge tag:regional") == {"north.example"}


@pytest.mark.parametrize("query", ["lang:pt-BR", "lang:pt-br", "ponte lang:PT-BR"])
def test_a_language_with_a_region_is_found_in_upper_and_lower_case(
    storage: Storage, tmp_path: Path, query: str
) -> None:
    storage.articles.store(make_article("ponte", "A ponte abriu.", title="Ponte", language="pt-BR", hours=1))
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles)) as search:
        assert [hit.article.language for hit in search.find(query, patience=60.0)] == ["pt-BR"]
        found = search.find("ponte", ArticleFilter(language="pt-BR"), patience=60.0)
        assert len(found) == 1
