"""``scrapy rules learn``, as used by people and programs."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.items import Link, Where
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.url_learning import UrlLearning
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place

SITE = "https://fresh.example"
NAMES = ["north", "south", "east", "west", "sea", "sky", "land", "rain", "wind", "sun", "moon", "snow"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.data.mkdir(exist_ok=True)
    links = [
        Link(url=f"{SITE}/news/{topic}/k{number}", where=Where.FEED) for topic in NAMES for number in range(3)
    ]
    links += [Link(url=f"{SITE}/{name}", where=Where.NAVIGATION, text=name) for name in NAMES]
    with closing(SqliteStorage(place.data / "newsbot.db")) as storage:
        lessons = UrlLearning()
        lessons.heard(Rule(domain="fresh.example"), links)
        lessons.storage = storage.notes
        lessons.write()
    return place


def test_patterns_are_printed_with_evidence_and_accuracy(place: Place) -> None:
    answer = place.run("rules", "learn", "fresh.example")
    assert answer.code == 0, answer.err
    assert "learned from 36 articles and 12 other pages" in answer.out
    assert "on held-out links, these patterns: precision 100 %, recall 100 %" in answer.out
    assert re.search(r"^  # 36 known articles, 0 other pages; /news/", answer.out, re.MULTILINE)
    assert re.search(r"^  - '\^/news/", answer.out, re.MULTILINE)


def test_programs_get_json(place: Place) -> None:
    found = place.run("rules", "learn", "fresh.example", "--json").json
    assert found["held_out"] == {"precision": 1.0, "recall": 1.0}
    assert found["patterns"][0]["articles"] == 36


def test_the_written_rule_can_be_read(place: Place) -> None:
    assert place.run("rules", "learn", "fresh.example", "--write").code == 0
    assert (place.rules / "fresh.example.yaml").read_text().startswith("domain: fresh.example\narticle:\n")
    assert place.run("rules", "check").code == 0
    shown = place.run("rules", "show", f"{SITE}/news/fog/k9", "--json").json
    assert shown["kind"] == "article"
    assert shown["judgement"]["accepted"]
    assert shown["judgement"]["reason"].startswith("rule:^/news/")


def test_show_prints_the_learned_judgement_of_a_url(place: Place) -> None:
    shown = place.run("rules", "show", f"{SITE}/news/fog/k9")
    assert "a link to it in the body of a page: article, priority" in shown.out
    assert "(likely_article)" in shown.out
    judged = place.run("rules", "show", f"{SITE}/fog", "--json").json["judgement"]
    assert judged["reason"] == "likely_article", "the family decides, and what was learned only orders"
    assert judged["learned"] < 0.5


def test_patterns_are_added_to_a_rule_and_never_replaced(place: Place) -> None:
    file = place.rules / "fresh.example.yaml"
    file.write_text("domain: fresh.example\ndelay: 3\n")
    assert place.run("rules", "learn", "fresh.example", "--write").code == 0
    assert file.read_text().startswith("domain: fresh.example\ndelay: 3\narticle:\n")
    before = file.read_text()
    answer = place.run("rules", "learn", "fresh.example", "--write")
    assert answer.code == 2
    assert f"{file}:3: already has 'article'" in answer.err
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("unknown.example", "the URLs of 0 articles and 0 other pages are known"),
        ("no domain", "no domain"),
    ],
)
def test_errors_are_reported_in_one_line_with_a_remedy(place: Place, domain: str, message: str) -> None:
    answer = place.run("rules", "learn", domain)
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1
