"""Bylines in many languages, and their parts that are not names."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction.fields.authors import clean_authors


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Texto: Ana Ruiz", "Ana Ruiz"),
        ("a cura di Mario Rossi", "Mario Rossi"),
        ("dal nostro inviato Mario Rossi", "Mario Rossi"),
        ("Материал подготовил Иван Петров", "Иван Петров"),
        ("Публикувано от Иван Иванов", "Иван Иванов"),
        ("Пише: Петар Петровић", "Петар Петровић"),
        ("Piše: Ivan Horvat", "Ivan Horvat"),
        ("Του Γιώργου Παπαδόπουλου", "Γιώργου Παπαδόπουλου"),
        ("מאת דוד לוי", "דוד לוי"),
        ("Napsal Jan Novák", "Jan Novák"),
        ("Scris de Ion Popescu", "Ion Popescu"),
        ("Teksti: Matti Virtanen", "Matti Virtanen"),
        ("Parengė Jonas Jonaitis", "Jonas Jonaitis"),
        ("Írta: Kovács János", "Kovács János"),
        ("Yazar: Ahmet Yılmaz", "Ahmet Yılmaz"),
        ("Reporter: Budi Santoso", "Budi Santoso"),
        ("(서울=연합뉴스) 김철수 기자 =", "김철수"),
        ("Aufgezeichnet von Hans Müller", "Hans Müller"),
        ("Von unserem Korrespondenten Hans Müller", "Hans Müller"),
        ("Door onze redacteur Jan de Vries", "Jan de Vries"),
        ("Compiled by Jane Doe", "Jane Doe"),
    ],
)
def test_words_before_the_name(written: str, name: str) -> None:
    assert clean_authors([written]) == [name]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Hans Müller aus Berlin", ["Hans Müller"]),
        ("Publié par Jean Dupont le 3 mai 2024", ["Jean Dupont"]),
        ("Jane Doe 3 May 2024", ["Jane Doe"]),
        ("JANE DOE and JOHN ROE Associated Press", ["JANE DOE", "JOHN ROE"]),
        ("Words by Jane Doe, photography by John Roe", ["Jane Doe"]),
    ],
)
def test_places_days_and_offices_after_the_name(written: str, names: list[str]) -> None:
    assert clean_authors([written]) == names


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("By Jane Doe and Cher", ["Jane Doe", "Cher"]),
        ("Budi Santoso, Suparno", ["Budi Santoso", "Suparno"]),
        ("Von Hans Müller, dpa", ["Hans Müller", "dpa"]),
        ("By Jane Doe, Reuters", ["Jane Doe", "Reuters"]),
        ("By The Associated Press", ["The Associated Press"]),
        ("Associated Press", ["Associated Press"]),
        ("Redacția", []),
    ],
)
def test_single_words_that_are_not_places(written: str, names: list[str]) -> None:
    assert clean_authors([written]) == names
