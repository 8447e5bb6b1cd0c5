"""Places that short texts name, judged by a person; and ``place:`` in searches."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.places.mentions import gazetteer, places_in
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place
from tests.contracts.storage_samples import make_article

FILE = Path(__file__).parent / "data" / "places.txt"
JUDGED = [
    [part.strip() for part in line.split("|", 2)]
    for line in FILE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def labels(names: str) -> set[str]:
    """Return the labels of the judged places; a place that no name finds counts as missed."""
    listed = [name.strip() for name in names.split(";") if name.strip()]
    found = {name: gazetteer().named(name) for name in listed}
    return {f"unknown {name}" if place is None else place.label for name, place in found.items()}


def test_places_are_found_in_three_languages():
    assert len(JUDGED) >= 200
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for language, names, text in JUDGED:
        wanted, found = labels(names), set(places_in("", text, language))
        right[language] += len(wanted & found)
        wrong[language] += len(found - wanted)
        missed[language] += len(wanted - found)
    f1 = {one: 2 * right[one] / (2 * right[one] + wrong[one] + missed[one]) for one in right}
    assert f1.keys() == {"en", "de", "ru"}
    assert min(f1.values()) >= 0.9, f1


@pytest.mark.parametrize(
    ("language", "name", "place", "no_place"),
    [
        ("en", "Reading", "The train stopped in Reading.", "Reading aloud helps. Her Reading List grew."),
        ("en", "Nice", "He lives near Nice.", "Nice try, said the coach. A Nice Day for All Friends"),
        ("en", "Mobile", "Ships left Mobile (Alabama).", "Mobile apps sell well; Apple Mobile is dearer."),
        ("de", "Essen", "Er wohnt in Essen.", "Das Essen war kalt, und zum Essen gab es Wein."),
        ("ru", "Орёл", "Поезд пришёл из Орла.", "Орёл парил. Орла видели над лесом."),
        ("ru", "Владимир", "Она родилась в городе Владимир.", "Владимир Петров и Владимира видели вместе."),
    ],
)
def test_names_that_are_words_or_people_need_a_word_of_place(language, name, place, no_place):
    wanted = gazetteer().named(name)
    assert wanted is not None
    assert wanted.label in places_in("", place, language)
    assert wanted.label not in places_in("", no_place, language)


def test_a_mention_makes_the_others_sure():
    found = places_in("Essen zahlt mehr", "Die Stadt Essen und ihr Hafen wachsen.\nEssen hofft.", "de")
    assert [one.name for one in found.values()] == ["Essen"]


def test_a_search_finds_a_place_by_its_name_in_any_language(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "data").mkdir()
    with closing(SqliteStorage(tmp_path / "data" / "newsbot.db")) as storage:
        storage.articles.store(make_article("a", "Мэр Москвы открыл парк.", language="ru"))
        storage.articles.store(make_article("b", "Das Ministerium in Moskau schwieg.", language="de"))
        storage.articles.store(make_article("c", "Students in Moscow, Idaho, protested.", language="en"))
        storage.articles.store(make_article("d", "Rain is expected.", language="en"))

    def found(query: str, **settings: str) -> set[str]:
        answer = place.run(
            "articles", "search", query, "--json", NEWSBOT_DATA=str(tmp_path / "data"), **settings
        )
        assert answer.code == 0, answer.err
        return {row["url"].split("/")[3][0] for row in answer.json}

    assert found("place:Москва", NEWSBOT_PLACES="1") == {"a", "b"}
    assert found("place:moscow lang:de", NEWSBOT_PLACES="1") == {"b"}
    assert found('place:"Moscow, Idaho"', NEWSBOT_PLACES="1") == {"c"}
    assert found("place:Russland", NEWSBOT_PLACES="1") == {"a", "b"}  # the country of a city
    counts = place.run(
        *("articles", "counts", "", "--by", "place", "--json"),
        NEWSBOT_DATA=str(tmp_path / "data"),
        NEWSBOT_PLACES="1",
    )
    assert counts.json["place"][0] == {
        "Moscow, RU": 2, "Russia": 2, "Idaho, US": 1, "Moscow, US": 1, "United States": 1
    }  # fmt: skip
    assert found("place:Moscow") == set()  # without the setting
