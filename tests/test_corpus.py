"""Corpora: shards with quality signals, a data card, and the same bytes each time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from newsbot.apps.corpus.writing import signals
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place
from tests.contracts.storage_samples import make_article

ENGLISH = "The council of the town has voted for the new bridge, and the work on it will begin in the spring."
RUSSIAN = "Совет города проголосовал за новый мост, и работы на нём начнутся весной, как только сойдёт снег."


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = Place(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    storage = SqliteStorage(folder / "newsbot.db")
    for number in range(7):
        text, language = (RUSSIAN, "ru") if number % 2 else (ENGLISH, "en")
        storage.articles.store(
            make_article(f"a{number}", f"{text} Number {number}.", language=language, hours=number)
        )
    storage.articles.store(make_article("closed", ENGLISH, rights={"tdm-reservation": "1"}))
    storage.articles.store(make_article("broken", "broken \ud800 emoji", language="en", hours=9))
    storage.close()
    return here


def run(place: Place, folder: str, *words: str) -> Path:
    done = place.run("corpus", str(place.folder / folder), *words, NEWSBOT_DATA=str(place.folder / "data"))
    assert done.code == 0, done.err
    return place.folder / folder


def rows_of(folder: Path) -> list[dict[str, object]]:
    found = []
    for path in sorted((folder / "data").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def test_files_of_a_folder_are_not_replaced(place: Place) -> None:
    folder = place.folder / "mine"
    folder.mkdir()
    (folder / "README.md").write_text("my own notes")
    done = place.run("corpus", str(folder), "--format", "jsonl", NEWSBOT_DATA=str(place.folder / "data"))
    assert (done.code, "must be a new or empty folder" in done.err) == (2, True)
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert (folder / "README.md").read_text() == "my own notes"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_two_exports_of_the_same_articles_are_equal(place: Place, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    one, two = (run(place, name, "--format", kind, "--shard", "3") for name in ("one", "two"))
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert len(files) == 4
    assert [(one / path).read_bytes() for path in files] == [(two / path).read_bytes() for path in files]


def test_shards_have_all_articles_without_opt_outs(place: Place) -> None:
    rows = rows_of(run(place, "c", "--format", "jsonl", "--shard", "3"))
    assert len({row["id"] for row in rows}) == len(rows) == 8
    assert not any(row["opt_out"] for row in rows)
    with_all = rows_of(run(place, "d", "--format", "jsonl", "--with-opt-outs"))
    assert sum(bool(row["opt_out"]) for row in with_all) == 1
    assert [row["language"] for row in rows_of(run(place, "e", "--format", "jsonl", "--language", "ru"))] == [
        "ru"
    ] * 3


def test_one_article_of_each_story_is_written(place: Place) -> None:
    storage = SqliteStorage(place.folder / "data/newsbot.db")
    for number, story in enumerate(("s1", "s1", "s2")):
        storage.articles.store(
            make_article(
                f"copy{number}", f"{ENGLISH} Copy {number}.", language="de", story=story, hours=20 + number
            )
        )
    storage.close()
    words = ("--format", "jsonl", "--language", "de")
    assert len(rows_of(run(place, "one", *words))) == 2
    groups = [row["near_duplicate_group"] for row in rows_of(run(place, "all", *words, "--with-copies"))]
    assert len(groups) == 3
    assert len(set(groups)) == 2


def test_parquet_has_typed_columns(place: Place) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(run(place, "p") / "data")
    kinds = {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)}
    assert (kinds["words"], kinds["opt_out"], kinds["stop_word_share"]) == ("int64", "bool", "double")
    assert kinds["published_at"] == "timestamp[us, tz=UTC]"
    assert table.num_rows == 8


def test_the_card_is_of_the_form_of_the_hub(place: Place) -> None:
    text = (run(place, "c", "--format", "jsonl") / "README.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    meta = yaml.safe_load(head)
    assert meta["language"] == ["en", "ru"]
    assert meta["size_categories"] == ["n<1K"]
    assert meta["configs"] == [{"config_name": "default", "data_files": "data/*.jsonl.gz"}]
    assert "Left out: 1 reserved articles and 0 copies." in body
    rows = rows_of(place.folder / "c")
    assert all(f"`{name}`" in body for name in rows[0])


def test_a_folder_with_files_is_not_overwritten(place: Place) -> None:
    run(place, "c", "--format", "jsonl")
    again = place.run("corpus", str(place.folder / "c"), NEWSBOT_DATA=str(place.folder / "data"))
    assert again.code == 2
    assert "must be a new or empty folder" in again.err


def test_signals_tell_prose_from_lists_and_repetitions() -> None:
    prose = signals(make_article("a", ENGLISH, language="en"))
    assert prose.stop_word_share is not None
    assert prose.stop_word_share > 0.3
    assert (prose.duplicate_5gram_share, prose.duplicate_line_share) == (0.0, 0.0)
    assert prose.language_confidence > 0.6
    table = signals(
        make_article("b", "\n".join(f"ABC {number}.50 XYZ" for number in range(40)), language="en")
    )
    assert table.stop_word_share == 0.0
    assert table.letter_share < 0.7
    again = signals(make_article("c", "\n".join([ENGLISH] * 5), language="en"))
    assert (again.duplicate_line_share, again.duplicate_5gram_share) == (0.8, 0.8)
    assert signals(make_article("d", RUSSIAN, language="en")).language_confidence == 0.0
    assert signals(make_article("e", "日本語の記事です。", language="ja")).language_confidence == 1.0
    assert signals(make_article("f", "", language=None)).words == 0
