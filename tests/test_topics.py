"""The commands of categories, and what else understands ``category:``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place
from tests.contracts.test_categories import WORDS, filed


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    here = Place(tmp_path_factory.mktemp("topics"))
    (here.folder / "data").mkdir()
    with closing(SqliteStorage(here.folder / "data" / "newsbot.db")) as storage:
        for site in ("alpha", "beta", "gamma"):
            for topic in WORDS:
                for number in range(5):
                    storage.articles.store(filed(topic, site, number))
    return here


def test_a_category_is_learned_tested_and_used(place: Place, tmp_path: Path) -> None:
    def done(*words: str):
        name, *rest = words
        answer = place.run(name, *rest, NEWSBOT_DATA=str(place.folder / "data"))
        assert answer.code == 0, answer.err
        return answer

    for name, section in (("sport", "Sport"), ("money", "business")):
        assert (
            "on sites that were not seen: precision"
            in done("categories", "learn", name, "--section", section).err
        )
    tested = done("categories", "test", "sport", "--json").json
    assert tested["f1"] >= 0.9
    assert {row["site"] for row in tested["sites"]} == {"alpha.example", "beta.example", "gamma.example"}
    listed = done("categories", "list", "--json").json
    assert [(row["category"], row["sections"], row["examples"]) for row in listed] == [
        ("money", ["business"], 15),
        ("sport", ["sport"], 15),
    ]
    shown = done("categories", "show", "https://alpha.example/sport/1", "--json").json
    assert [(row["category"], row["belongs"]) for row in shown] == [("sport", True), ("money", False)]
    assert shown[0]["probability"] > shown[0]["threshold"] > shown[1]["probability"]
    found = done("articles", "search", "category:sport", "--json").json
    assert {row["url"].split("/")[3] for row in found} == {"sport"}
    counts = done("articles", "counts", "", "category:sport", "--by", "category", "--json").json
    assert counts["category"] == [{"sport": 15, "money": 15}, {"sport": 15}]
    target = tmp_path / "sport.jsonl"
    done("articles", "export", "--query", "category:sport", "-o", str(target))
    assert len(target.read_text().splitlines()) == 15
    done("articles", "save", "games", "category:sport -category:money", "--tell", "hourly")
    done("categories", "learn")
    done("categories", "forget", "sport")
    assert [row["category"] for row in done("categories", "list", "--json").json] == ["money"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("learn", "chess"), "say what belongs to it"),
        (("learn", "--section", "chess"), "give a name"),
        (("learn", "chess", "https://alpha.example/chess/1"), "is not a stored article"),
        (("learn", "chess", "--query", "colour:red"), "correct the query: colour: is not a field"),
        (("learn", "chess", "--from", "/nowhere/urls.txt"), "cannot be read"),
        (("test", "chess"), "there is no such category"),
    ],
)
def test_mistakes_are_explained(place: Place, words: tuple[str, ...], message: str) -> None:
    answer = place.run("categories", *words, NEWSBOT_DATA=str(place.folder / "data"))
    assert answer.code == 2
    assert message in answer.err
