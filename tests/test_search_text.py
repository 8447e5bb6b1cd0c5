"""Stems, queries and snippets: the parts of search without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.search.articles import WIDTH, snippet
from newsbot.apps.search.query import MAX_DEPTH, MAX_TERMS, All, Any, Mark, Node, Not, Term, describe, parse
from newsbot.pages.text.words import MAX_VARIANTS, letters, placed_stems, query_stems, stem, stemming, stems


def t(text: str, field: str = "", *, beginning: bool = False) -> Term:
    return Term(text, field, beginning)


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
    ("query", "written"),
    [
        *(("Киев", "Киеве"), ("Киеве", "Киев"), ("кредит", "кредитов"), ("кредитами", "кредит")),
        *(("канал", "каналу"), ("режима", "режим"), ("времени", "время"), ("путин", "Путиным")),
        *(("масок", "масок"), ("running", "runs"), ("2024", "2024")),
    ],
)
def test_any_form_of_a_word_finds_the_other_forms(query: str, written: str) -> None:
    assert (stem(written),) in query_stems(query)


@pytest.mark.parametrize(
    ("query", "written"), [("йод", "иод"), ("гол", "голова"), ("мир", "мера"), ("1", "10")]
)
def test_other_words_are_not_found(query: str, written: str) -> None:
    assert (stem(written),) not in query_stems(query)


@given(st.text(max_size=100))
def test_positions_of_words_in_the_text(text: str) -> None:
    placed = list(placed_stems(text))
    assert [found for found, _, _ in placed] == stems(text)
    end = 0
    for found, first, after in placed:
        assert end <= first < after <= len(text)
        end = after
        assert stems(text[first:after]) == [found]
        assert letters(found) == found


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("oil price", All((t("oil"), t("price")))),
        ('"oil price" -gas', All((t("oil price"), Not(t("gas"))))),
        ('title:oil TITLE:"oil price"', All((t("oil", "title"), t("oil price", "title")))),
        ('-title:"oil price"', Not(t("oil price", "title"))),
        ("«нефть и газ»", t("нефть и газ")),
        ("covid-19", t("covid 19")),
        ("oil - gas – price", All((t("oil"), t("gas"), t("price")))),
        ("--oil", Not(t("oil"))),
        ("title:", t("title")),
        ('author:smith AUTHOR:"a b"', All((t("smith", "author"), t("a b", "author")))),
        ("北京", t("北 京")),
        ('"" - 🙂 ***', None),
        ("oil OR gas", Any((t("oil"), t("gas")))),
        ("oil AND gas OR coal", Any((All((t("oil"), t("gas"))), t("coal")))),
        ("oil (gas OR coal)", All((t("oil"), Any((t("gas"), t("coal")))))),
        ("oil -(gas OR coal)", All((t("oil"), Not(Any((t("gas"), t("coal"))))))),
        ("oil NOT gas", All((t("oil"), Not(t("gas"))))),
        ("NOT -gas", t("gas")),
        ("oil or gas and coal", All((t("oil"), t("or"), t("gas"), t("and"), t("coal")))),
        ('"OR"', t("OR")),
        ("строит*", t("строит", beginning=True)),
        ("title:строит*", t("строит", "title", beginning=True)),
        ("covid-1*", t("covid 1")),
        ("site:A.org", Mark("site", "a.org")),
        ("site:www.a.org", Mark("site", "a.org")),
        ("site:https://a.org/news", Mark("site", "a.org")),
        ("site:сайт.test", Mark("site", "xn--80aswg.test")),
        ("site:a.org site:b.org x", All((t("x"), Any((Mark("site", "a.org"), Mark("site", "b.org")))))),
        ("-site:a.org lang:RU", All((Not(Mark("site", "a.org")), Mark("lang", "ru")))),
        ("(a (b", All((t("a"), t("b")))),
        ("a) b", All((t("a"), t("b")))),
        ("()", None),
        ("12:30", t("12 30")),
        ("https://a.org/b", t("https a org b")),
    ],
)
def test_queries_are_parsed_as_intended(query: str, node: Node | None) -> None:
    assert parse(query).node == node


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('"open oil', "a quote was not closed"),
        ("(oil", "a bracket was not closed"),
        ("oil)", "a closing bracket has no opening bracket"),
        ("colour:red", "colour: is not a field"),
        ("since:soon", "since:soon: is not a date"),
        ("oil until:2024-13-01", "until:2024-13-01: is not a date"),
        ("-since:2024", "-since: cannot be excluded"),
        ("OR oil", "OR needs a word before and after it"),
        ("oil OR", "AND, OR and NOT need a word after them"),
        ("oil a*", "a*: is too short"),
        ("title: oil", "title: was searched as a word"),
        ("oil " * 300, "only the first 1000 characters are searched"),
        ("(" * 20 + "oil", "brackets can be nested 8 deep"),
    ],
)
def test_query_errors_are_reported(query: str, message: str) -> None:
    assert any(note.startswith(message) for note in parse(query).notes), parse(query).notes


def test_brackets_that_are_nested_too_deep_do_not_affect_other_brackets() -> None:
    deep = "(" * MAX_DEPTH + "(x OR y) z" + ")" * MAX_DEPTH
    found = parse(f"a {deep} OR b")
    assert found.node == Any((All((t("a"), Any((t("x"), All((t("y"), t("z"))))))), t("b")))
    assert found.notes == [f"brackets can be nested {MAX_DEPTH} deep; deeper brackets are ignored"]


@pytest.mark.parametrize("most", [MAX_TERMS, MAX_TERMS + 1])
def test_too_many_words_are_reported(most: int) -> None:
    found = parse(f"(({' OR '.join(f'w{number}' for number in range(most))}))")
    assert len(list(found.terms())) == MAX_TERMS
    expected = [f"only the first {MAX_TERMS} words and fields are searched"]
    assert found.notes == (expected if most > MAX_TERMS else [])


@pytest.mark.parametrize(
    "query", ["oil price", "a OR b", 'title:"x y" -site:a.org since:7d story:s-1', "time 12:30"]
)
def test_queries_without_errors_have_no_notes(query: str) -> None:
    assert parse(query).notes == []


@pytest.mark.parametrize(
    "query", ["a b", "(a OR -b) title:c", '"a b" -(c AND d)', "lang:ru -site:x.org строит*"]
)
def test_the_description_of_a_query_is_a_valid_query(query: str) -> None:
    node = parse(query).node
    assert node is not None
    assert parse(describe(node)).node == node


def test_dates_apply_to_the_whole_query() -> None:
    query = parse("a OR (b since:2024-05) until:2024-05-31 story:s1")
    assert (query.since, query.until) == (datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 31, tzinfo=UTC))
    assert query.story == "s1"
    assert query.node == Any((t("a"), t("b")))
    assert parse("a since:2026-11-20T10:30").since == datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    assert parse("a since:2026-11-20T10:30Z").since == datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    today, before = parse("since:today").since, parse("since:yesterday").since
    assert today is not None
    assert before is not None
    assert today - before == timedelta(days=1)
    assert today <= datetime.now(UTC)


@pytest.mark.parametrize("query", ["since:2024-02-30", "until:soon"])
def test_an_invalid_date_is_searched_as_a_word(query: str) -> None:
    found = parse(query)
    assert found.since is found.until is None
    assert len(list(found.terms())) == 1


@pytest.mark.parametrize(("age", "hours"), [("12h", 12), ("7D", 168), ("2w", 336), ("9999w", 9999 * 168)])
def test_an_age_is_counted_from_now(age: str, hours: int) -> None:
    before = datetime.now(UTC)
    query = parse(f"bridge since:{age} until:{age}")
    assert query.since is not None
    assert query.until is not None
    assert before <= query.since + timedelta(hours=hours) <= query.until + timedelta(hours=hours)
    assert query.until + timedelta(hours=hours) <= datetime.now(UTC)
    assert query.notes == []


def test_blank_queries() -> None:
    assert parse("").blank
    assert parse(" \n ").blank
    assert not parse("🙂").blank


@given(st.text(st.characters() | st.sampled_from('"-:()* title OR'), max_size=80))
def test_every_text_is_a_bounded_query_of_plain_stems(text: str) -> None:
    query = parse(text * 20)
    terms = list(query.terms())
    assert len(terms) <= MAX_TERMS
    for term in terms:
        runs = query_stems(term.text, ["", "de", "fr"])
        assert 0 < len(runs) <= MAX_VARIANTS
        assert all(found and letters(found) == found for run in runs for found in run)


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", "Häuser Häusern Haus"),
        ("fr", "économiques économique"),
        ("es", "ministros ministro"),
        ("it", "governi governo"),
        ("pt", "notícias notícia"),
        ("nl", "regeringen regering"),
        ("sv", "regeringen regeringens"),
        ("pl", "wyborach wybory"),
        ("tr", "kitaplar kitap"),
        ("el", "εκλογές εκλογή"),
        ("pt-BR", "governos governo"),
    ],
)
def test_forms_have_the_same_stem_in_the_language_of_the_article(language: str, forms: str) -> None:
    code = stemming(language)
    assert len({tuple(stems(form, code)) for form in forms.split()}) == 1
    first = forms.split(maxsplit=1)[0]
    assert tuple(stems(first, code)) in query_stems(first, ["", code])
    assert stemming("ru") == stemming("xx") == stemming(None) == ""


def test_a_snippet_shows_the_place_with_most_of_the_words() -> None:
    text = (
        "Нефть дорожает. " + "Пустые слова. " * 50 + "Цена на нефть\n\nвыросла вдвое. " + "Ещё слова. " * 50
    )
    shown = snippet("Заголовок", text, frozenset(stems("нефти цену")))
    assert "[Цена] на [нефть] выросла вдвое." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < WIDTH + 60


def test_words_of_scripts_without_spaces_are_marked_as_words() -> None:
    text = "河水上涨，最高水位。这样的洪水少见。水。"
    assert snippet("", text, frozenset(stems("洪水"))) == "河水上涨，最高水位。这样的[洪][水]少见。[水]。"
    assert snippet("", text, frozenset(stems("水"))).startswith("河水上涨")  # a word of one letter
    assert snippet("", "河水", frozenset(stems("水"))) == "河[水]"
    assert snippet("", "План Б готов.", frozenset(stems("план Б"))).startswith("[План] [Б]")


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
