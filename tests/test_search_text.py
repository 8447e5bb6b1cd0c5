"""Stems, queries and snippets: the parts of search that need no database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.search.query import MAX_PHRASES, MAX_TERMS, Query, Term, parse
from newsbot.search.snippets import WIDTH, snippet
from newsbot.text.stems import asked_stems, placed_stems, stem, stems
from newsbot.text.words import letters


def one(*words: str, field: str = "") -> Term:
    return Term(tuple((word,) for word in words), field)


@pytest.mark.parametrize(
    "forms",
    [
        "нефть нефти нефтью НЕФТЬ нефт\u00adи не\u0301фть",
        "ёлка елки ЁЛКАМИ",
        "running runs RUN",
        "café cafés CAFE",
        "министр министра министрами",
        "covid-19 COVID-19",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({tuple(stems(form)) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        *(("Киев", "Киеве"), ("Киеве", "Киев"), ("кредит", "кредитов"), ("кредитами", "кредит")),
        *(("канал", "каналу"), ("режима", "режим"), ("времени", "время"), ("путин", "Путиным")),
        *(("масок", "масок"), ("running", "runs"), ("2024", "2024"), ("北京", "北")),
    ],
)
def test_any_form_finds_the_others(asked: str, written: str) -> None:
    assert stem(written) in asked_stems(asked)[0]


@pytest.mark.parametrize(
    ("asked", "written"), [("йод", "иод"), ("гол", "голова"), ("мир", "мера"), ("1", "10")]
)
def test_other_words_are_not_found(asked: str, written: str) -> None:
    assert stem(written) not in asked_stems(asked)[0]


@given(st.text(max_size=100))
def test_places_are_where_the_words_stand(text: str) -> None:
    placed = list(placed_stems(text))
    assert [found for found, _, _ in placed] == stems(text)
    end = 0
    for found, first, after in placed:
        assert end <= first < after <= len(text)
        end = after
        assert stems(text[first:after]) == [found]
        assert letters(found) == found


@pytest.mark.parametrize(
    ("query", "wanted", "unwanted"),
    [
        ("oil price", (one("oil"), one("price")), ()),
        ('"oil price" -gas', (one("oil", "price"),), (one("gas"),)),
        ('title:oil TITLE:"oil price"', (one("oil", field="title"), one("oil", "price", field="title")), ()),
        ('-title:"oil price"', (), (one("oil", "price", field="title"),)),
        ('"open oil', (one("open", "oil"),), ()),
        ("«нефть и газ»", (one("нефт", "и", "газ"),), ()),
        ("covid-19", (one("covid", "19"),), ()),
        ("oil - gas – price", (one("oil"), one("gas"), one("price")), ()),
        ("--oil", (), (one("oil"),)),
        ("title:", (one("titl"),), ()),
        ("OR AND", (one("or"), one("and")), ()),
        ('author:smith AUTHOR:"a b"', (one("smith", field="author"), one("a", "b", field="author")), ()),
        ("北京", (one("北", "京"),), ()),
        ('"" - 🙂 ***', (), ()),
    ],
)
def test_queries_are_read_as_people_mean_them(
    query: str, wanted: tuple[Term, ...], unwanted: tuple[Term, ...]
) -> None:
    assert parse(query) == Query(list(wanted), list(unwanted), blank=False)


def test_marks_and_dates() -> None:
    query = parse("site:A.org site:b.org -site:c.org lang:RU -lang:en since:2024-05 until:2024-05-31")
    assert (query.sites, query.not_sites) == (["a.org", "b.org"], ["c.org"])
    assert (query.languages, query.not_languages) == (["ru"], ["en"])
    assert (query.since, query.until) == (datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 31, tzinfo=UTC))
    assert not query.wanted
    assert not query.empty


@pytest.mark.parametrize("query", ["since:yesterday", "until:2024-13-01", "since:2024-02-30", "-since:2024"])
def test_a_date_that_is_none_is_a_word(query: str) -> None:
    found = parse(query)
    assert found.since is found.until is None
    assert found.no_dates == ([] if query.startswith("-") else [query])
    assert len(found.wanted + found.unwanted) == 1


@pytest.mark.parametrize(("age", "hours"), [("12h", 12), ("7D", 168), ("2w", 336), ("9999w", 9999 * 168)])
def test_an_age_is_counted_from_now(age: str, hours: int) -> None:
    before = datetime.now(UTC)
    query = parse(f"bridge since:{age} until:{age}")
    assert query.since is not None
    assert query.until is not None
    assert before <= query.since + timedelta(hours=hours) <= query.until + timedelta(hours=hours)
    assert query.until + timedelta(hours=hours) <= datetime.now(UTC)
    assert (len(query.wanted), query.no_dates) == (1, [])


def test_blank_queries() -> None:
    assert parse("").blank
    assert parse(" \n ").blank
    assert not parse("🙂").blank


@given(st.text(st.characters() | st.sampled_from('"-:() title'), max_size=80))
def test_every_text_is_a_bounded_query_of_plain_stems(text: str) -> None:
    query = parse(text * 20)
    assert len(query.wanted) + len(query.unwanted) <= MAX_TERMS
    for term in query.wanted + query.unwanted:
        assert 0 < len(term.words) <= MAX_TERMS
        assert 0 < len(term.phrases()) <= MAX_PHRASES
        assert all(found and letters(found) == found for word in term.words for found in word)


def test_a_snippet_shows_where_most_of_the_words_meet() -> None:
    text = (
        "Нефть дорожает. " + "Пустые слова. " * 50 + "Цена на нефть\n\nвыросла вдвое. " + "Ещё слова. " * 50
    )
    shown = snippet("Заголовок", text, frozenset(stems("нефти цену")))
    assert "[Цена] на [нефть] выросла вдвое." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < WIDTH + 60


def test_a_snippet_falls_back_to_the_title_and_the_beginning() -> None:
    assert snippet("Цена нефти", "Текст.", frozenset(["нефт"])) == "Цена [нефти]"
    assert snippet("Цена нефти", "Текст.", frozenset(["газ"])) == "Текст."
    assert snippet("Цена", "", frozenset()) == "Цена"
    assert snippet("", "слово " * 100, frozenset()).endswith("слово…")


@given(st.text(max_size=400), st.sets(st.sampled_from(["a", "б", "1", "слов"])))
def test_a_snippet_is_the_text_with_marks(text: str, wanted: set[str]) -> None:
    text = text.replace("[", "(").replace("]", ")")
    shown = snippet("", text, frozenset(wanted)).removeprefix("…").removesuffix("…")
    assert shown.replace("[", "").replace("]", "") in " ".join(text.split()) + "…"
    assert len(shown) <= WIDTH + 2 * len(text) // 1 + 2


def test_a_snippet_of_a_text_without_spaces_is_short() -> None:
    assert len(snippet("", "x" * 100_000 + " слово " + "y" * 100_000, frozenset(["слов"]))) < WIDTH + 60
