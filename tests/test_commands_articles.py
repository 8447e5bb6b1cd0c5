"""``scrapy articles`` as a program on a real data file."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.commandline import Place, article


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("articles"))
    with place.storage() as storage:
        storage.articles.store(
            article(1, title="Порт закрыт", text="Порт закрыт на ремонт до осени.", language="ru")
        )
        storage.articles.store(
            article(2, title="Harbour closed", text="The harbour is closed for repairs. " * 3)
        )
        storage.articles.store(
            article(2, title="Harbour closed until autumn", text="The harbour stays closed. " * 3)
        )
        storage.articles.store(
            article(
                3,
                source="other.net",
                url="https://other.net/a?ref=1",
                canonical_url="https://other.net/a?ref=1",
                title="=HYPERLINK(1)",
                text="The harbour stays closed, says the agency. " * 3,
            )
        )
        storage.stories.assign("https://example.org/news/2", "story1", None)
        storage.stories.assign("https://other.net/a?ref=1", "story1", "https://example.org/news/2")
    return place


def test_search_prints_a_row_per_hit_with_complete_urls(place: Place) -> None:
    answer = place.program("articles", "search", "--best-first", "harbour")
    assert answer.code == 0
    (row,) = answer.rows  # one article of a story
    assert row[-1] in ("https://example.org/news/2?utm_source=feed", "https://other.net/a?ref=1")
    assert row[2].endswith("(and 1 more)")
    assert answer.out.splitlines()[0].split() == ["time", "source", "title", "found", "url"]
    assert "2024-05-02 08:00" in answer.out


SOON = (
    "since:soon: is not a date and was searched as a word; write 2024, 2024-05, 2024-05-31, "
    "2024-05-31T08:00+03:00, 7d (ago), today or "
    "yesterday"
)


def test_search_reports_an_invalid_date(place: Place) -> None:
    answer = place.run("articles", "search", "harbour since:soon until:2030 -since:x")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.splitlines() == [
        "no article found",
        SOON,
        "-since: cannot be excluded and was ignored",
        "understood as: harbour AND soon AND until:2030-01-01T00:00Z",
        "no article has soon; look for another spelling, or write word*",
    ]
    assert [
        hit["copies"] for hit in place.run("articles", "search", "harbour since:9999w", "--json").json
    ] == [1]


def test_search_in_json_finds_word_forms(place: Place) -> None:
    hits = place.run("articles", "search", "порта", "--json").json
    assert [hit["title"] for hit in hits] == ["Порт закрыт"]
    assert "text" not in hits[0]
    assert "[" in hits[0]["snippet"]


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (["--source", "OTHER.net"], ["=HYPERLINK(1)"]),
        (["--until", "2024-05-03"], ["Harbour closed until autumn"]),
        (["--since", "2024-05-03"], ["=HYPERLINK(1)"]),
        (["--language", "ru"], []),
        (["--limit", "1"], ["=HYPERLINK(1)"]),
    ],
)
def test_search_filters(place: Place, options: list[str], titles: list[str]) -> None:
    hits = place.run("articles", "search", "harbour", "--json", *options).json
    assert [hit["title"] for hit in hits] == titles


def test_a_search_without_hits_is_reported_on_stderr(place: Place) -> None:
    answer = place.run("articles", "search", "unheard")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.splitlines() == [
        "no article found",
        "understood as: unheard",
        "no article has unheard; look for another spelling, or write word*",
    ]
    assert place.run("articles", "search", "unheard", "--json").json == []


def test_dates_that_contradict_each_other(place: Place) -> None:
    answer = place.run("articles", "search", "x", "--since", "2024-05-03", "--until", "2024-05-03")
    assert answer.code == 2
    assert answer.err == "scrapy articles: --since must be before --until; otherwise no article matches\n"


def test_show_prints_the_method_of_each_field(place: Place) -> None:
    answer = place.run("articles", "show", "https://example.org/news/2?utm_medium=x")
    assert answer.code == 0
    assert "Harbour closed until autumn  [json-ld]" in answer.out
    assert "The harbour stays closed." in answer.out
    assert "version              2" in answer.out


def test_show_knows_the_query_keys_that_the_rule_drops(place: Place) -> None:
    assert (
        place.run("articles", "show", "https://example.org/news/1?ref=x", "--json").json["language"] == "ru"
    )


def test_show_versions(place: Place) -> None:
    answer = place.run("articles", "show", "https://example.org/news/2", "--versions", "--json")
    assert [one["title"] for one in answer.json["versions"]] == [
        "Harbour closed",
        "Harbour closed until autumn",
    ]
    text = place.run("articles", "show", "https://example.org/news/2", "--versions").out
    assert "--- version 1, fetched 2024-05-02T09:00:00Z: Harbour closed" in text


def test_show_of_an_unknown_article(place: Place) -> None:
    answer = place.run("articles", "show", "https://example.org/news/9")
    assert answer.code == 1
    assert answer.err == (
        "https://example.org/news/9: no article is stored under this URL; "
        "see: scrapy why 'https://example.org/news/9'\n"
    )
    assert place.run("articles", "show", "news/9").code == 2


def test_stories(place: Place) -> None:
    stories = place.run("articles", "stories", "--json").json
    assert [(story["story"], story["sources"]) for story in stories] == [
        ("story1", ["example.org", "other.net"])
    ]
    assert stories[0]["members"][0]["title"] == "Harbour closed until autumn"
    assert "example.org, other.net" in place.run("articles", "stories").out
    assert place.run("articles", "stories", "--min-members", "3").err == "no story has at least 3 articles\n"
    assert stories[0]["first"] == {"url": stories[0]["members"][0]["url"], "source": "example.org"}
    assert place.run("articles", "stories", "--min-sources", "2", "--json").json == stories
    assert place.run("articles", "stories", "--min-sources", "3").err == (
        "no story has at least 2 articles of at least 3 sites\n"
    )
    assert (
        place.run("articles", "stories", "--since", "2030-01-02").err
        == "no story has at least 2 articles, with an article since 2030-01-02 00:00\n"
    )


def test_export_to_stdout_and_to_a_file_round_trips(place: Place, tmp_path: Path) -> None:
    answer = place.program("articles", "export")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    with place.storage() as storage:
        assert rows == [one.to_dict() for one in storage.articles.iter()]
    assert len(rows) == 3
    assert answer.err == "3 articles exported\n"
    path = tmp_path / "out.csv"
    answer = place.run("articles", "export", "-o", str(path), "--source", "other.net", "--json")
    assert answer.json == {"file": str(path), "format": "csv", "articles": 1}
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["title"] for row in csv.DictReader(file)] == ["'=HYPERLINK(1)"]


@pytest.mark.parametrize("name", ["parquet", "warc"])
def test_export_of_binary_formats(place: Place, tmp_path: Path, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "out"
    assert place.run("articles", "export", "--format", name, "-o", str(path)).code == 0
    assert path.read_bytes()[:4] in (b"PAR1", b"\x1f\x8b\x08\x00")


def test_export_to_a_file_that_cannot_be_written(place: Place) -> None:
    answer = place.run("articles", "export", "-o", "/proc/nothing/out.csv")
    assert answer.code == 1
    assert answer.err.startswith("/proc/nothing/out.csv: cannot be written (")


def test_export_wrong_format(place: Place) -> None:
    answer = place.run("articles", "export", "--format", "parket")
    assert answer.code == 2
    assert (
        "'parket' is not allowed (did you mean 'parquet'?); allowed: jsonl, json, csv, parquet, warc"
        in answer.err
    )
    assert answer.err.count("\n") == 1
    assert place.run("articles", "export", "--format", "csv", "--json").code == 2


def test_nothing_crawled_yet(tmp_path: Path) -> None:
    empty = Place(tmp_path)
    for words in (["search", "x"], ["show", "https://example.org/"], ["export"], ["stories"]):
        answer = empty.run("articles", *words)
        assert answer.code == 1
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert "no crawl has run yet; run: scrapy crawl news" in answer.err
    assert not empty.data.exists()


def test_data_of_a_newer_version(tmp_path: Path) -> None:
    newer = Place(tmp_path)
    with newer.storage():
        pass
    with closing(sqlite3.connect(newer.data / "newsbot.db")) as database:
        database.execute("UPDATE newsbot_schema SET version = 99")
        database.commit()
    answer = newer.program("articles", "search", "x")
    assert answer.code == 1
    assert "newer newsbot" in answer.err
    assert answer.err.count("\n") == 1


def test_no_data_file(tmp_path: Path) -> None:
    other = Place(tmp_path)
    other.data.mkdir()
    (other.data / "newsbot.db").write_text("a letter to a friend " * 100)
    answer = other.run("articles", "search", "x")
    assert answer.code == 1
    assert "is not a newsbot data file" in answer.err


def test_show_and_why_print_the_removed_lines_of_the_site(place: Place) -> None:
    footline = "The editors are happy about letters."
    url = "https://example.org/news/8"
    with place.storage() as storage:
        storage.articles.store(article(8, extraction={"text": "density", "site_lines": f"1: {footline}"}))
    assert f"left out             {footline}  [repeated on" in place.run("articles", "show", url).out
    assert place.run("articles", "show", url, "--json").json["extraction"]["site_lines"] == f"1: {footline}"
    assert f"left out      {footline} (" in place.run("why", url).out
    assert place.run("why", url, "--json").json["article"]["site_lines"] == [footline]
