"""In every storage, saved searches report each new article once, even if workers are killed or outputs
fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.alerts import saved
from newsbot.apps.alerts.extension import Options, OutputError, Watch, tell
from newsbot.apps.alerts.rules import Limits, Message
from newsbot.apps.alerts.saved import Found, save, saved_searches
from newsbot.errors import ArgumentError
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.storage.base import Storage
from newsbot.storage.notes import MAX_NOTE
from tests.contracts.storage_samples import make_article

HOUR, DAY = 3600.0, 86400.0
START = 1_795_000_000.0
TAGS = {"regional": ["north.example"]}


class Output:
    """Records the messages it gets, unless it is unavailable."""

    def __init__(self, name: str = "out") -> None:
        self.name = name
        self.away = False
        self.taken: list[Found] = []

    def send(self, messages: Sequence[Message | Found]) -> None:
        if self.away:
            raise OutputError("away")
        self.taken += [one for one in messages if isinstance(one, Found)]

    @property
    def urls(self) -> list[list[str]]:
        return [
            [one.url.rpartition("/")[2].partition("?")[0] for one in found.articles] for found in self.taken
        ]


class Rounds:
    """Rounds of alerts over a storage."""

    def __init__(self, storage: Storage, folder: Path, *outputs: Output) -> None:
        self.storage, self.now = storage, START
        self.frontier = SqliteFrontier(folder / "frontier.db")
        self.outputs = outputs

    def watch(self) -> Watch:
        options = Options(
            outputs=self.outputs,
            limits=Limits(off=frozenset({"disk"})),
            every=300.0,
            folder=None,
            tagged=lambda tag: TAGS.get(tag, []),
        )
        return Watch(self.storage, self.frontier, options, owner="w", clock=lambda: self.now)

    def round(self, seconds: float = 300.0) -> None:
        self.now += seconds
        watch = self.watch()
        deliveries = watch.look()
        tell(deliveries)
        watch.note(deliveries)

    def store(self, name: str, text: str = "A new bridge", **fields: Any) -> None:
        self.storage.articles.store(make_article(name, f"{text}, {name}", language="en", **fields))


@pytest.fixture
def output() -> Output:
    return Output()


@pytest.fixture
def rounds(storage: Storage, tmp_path: Path, output: Output) -> Rounds:
    return Rounds(storage, tmp_path, output)


def test_articles_stored_after_a_search_was_saved_are_reported_once(rounds: Rounds, output: Output) -> None:
    rounds.store("old")
    save(rounds.storage, "bridges", "bridges -tunnel", "at_once", START)
    rounds.store("a")
    rounds.store("tunnel", "A bridge and a tunnel")
    rounds.round()
    rounds.round()
    assert output.urls == [["a"]]
    rounds.store("a", "The bridge again")  # a new version of a reported article
    rounds.store("b")
    rounds.round()
    rounds.round()
    assert output.urls == [["a"], ["b"]]
    first, second = (one.plain() for one in output.taken)
    assert first["id"] != second["id"]
    assert (first["search"], first["query"], first["more"]) == ("bridges", "bridges -tunnel", 0)
    assert json.loads(json.dumps(second))["articles"][0]["title"] == "Title of b"
    assert "Title of b" in output.taken[1].text


def test_only_one_article_of_a_story_is_reported(rounds: Rounds, output: Output) -> None:
    save(rounds.storage, "bridges", "bridge", "at_once", START)
    rounds.store("a", story="s", source="north.example")
    rounds.store("b", story="s", source="south.example")
    rounds.round()
    rounds.store("c", story="s", source="west.example")
    rounds.round()
    assert [len(urls) for urls in output.urls] == [1]


def test_hourly_and_daily_searches_collect_articles(rounds: Rounds, output: Output) -> None:
    save(rounds.storage, "hourly", "bridge", "hourly", START)
    save(rounds.storage, "daily", "bridge tag:regional", "daily", START)
    save(rounds.storage, "off", "bridge", "off", START)
    rounds.store("a", source="north.example")
    rounds.round()
    rounds.store("b")
    assert output.urls == []
    rounds.round(HOUR)
    assert output.urls == [["a", "b"]]
    rounds.store("c")
    rounds.round(HOUR / 2)
    rounds.round(DAY)
    assert {one.search.name: urls for one, urls in zip(output.taken[1:], output.urls[1:], strict=True)} == {
        "hourly": ["c"], "daily": ["a"],
    }  # fmt: skip


@pytest.mark.parametrize("killed", ["read", "sent"])
def test_after_a_kill_a_message_is_sent_again_with_the_same_id(
    rounds: Rounds, output: Output, killed: str
) -> None:
    save(rounds.storage, "bridges", "bridge", "at_once", START)
    rounds.store("a")
    watch = rounds.watch()
    deliveries = watch.look()
    if killed == "sent":
        tell(deliveries)
    rounds.round()
    rounds.round()
    assert output.urls == [["a"]] * (2 if killed == "sent" else 1)
    assert len({one.id for one in output.taken}) == 1


def test_an_output_that_was_down_gets_all_messages_later_and_others_get_them_once(
    storage: Storage, tmp_path: Path
) -> None:
    well, ill = Output("well"), Output("ill")
    rounds = Rounds(storage, tmp_path, well, ill)
    save(storage, "bridges", "bridge", "at_once", START)
    ill.away = True
    for name in "ab":
        rounds.store(name)
        rounds.round()
    ill.away = False
    rounds.round()
    assert well.urls == ill.urls == [["a"], ["b"]]
    assert saved_searches(storage.notes)[0].notices == []


def test_waiting_articles_are_bounded_and_counted(
    rounds: Rounds, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "MAX_LISTED", 3)
    monkeypatch.setattr(saved, "MAX_NOTICES", 2)
    monkeypatch.setattr(saved, "AT_ONCE", 4)
    save(rounds.storage, "bridges", "bridge", "at_once", START)
    output.away = True
    for number in range(15):
        rounds.store(f"{number}")
        rounds.round()
    (search,) = saved_searches(rounds.storage.notes)
    assert (len(search.notices), len(search.waiting), search.more) == (2, 3, 10)
    output.away = False
    rounds.round()
    rounds.round()
    assert sum(len(one.articles) + one.notice.more for one in output.taken) == 15
    assert output.taken[-1].title == "bridges: 13 new articles"
    output.away = True
    rounds.store("late")
    rounds.round()
    rounds.round(2 * DAY)
    assert saved_searches(rounds.storage.notes)[0].notices == []


def test_a_full_search_fits_its_note(rounds: Rounds) -> None:
    key = "f" * 32
    full = replace(
        save(rounds.storage, "n" * saved.MAX_NAME, "ы" * 1000, "daily", START),
        known=["f" * 16] * saved.REMEMBERED,
        waiting=[key] * saved.MAX_LISTED,
        notices=[
            saved.Notice(n, START, [key] * saved.MAX_LISTED, 99999, {f"webhook{m}": START for m in range(4)})
            for n in range(saved.MAX_NOTICES)
        ],
    )
    assert len(json.dumps(asdict(full), ensure_ascii=False)) < MAX_NOTE


def test_a_changed_search_keeps_its_reported_articles_and_invalid_searches_are_refused(
    rounds: Rounds, output: Output
) -> None:
    save(rounds.storage, "bridges", "bridge", "at_once", START)
    rounds.store("a")
    rounds.round()
    save(rounds.storage, "bridges", "tunnel OR bridge", "at_once", START)
    rounds.store("a", "A bridge once more")
    rounds.store("b", "A tunnel")
    rounds.round()
    assert output.urls == [["a"], ["b"]]
    for name, query, rhythm in (
        ("", "x", "daily"),
        ("a\nb", "x", "daily"),
        ("a", "🙂", "off"),
        ("a", "x", "x"),
        ("a", "x since:2026-13-99", "daily"),
        ("a", "foo:x", "daily"),
    ):
        with pytest.raises(ArgumentError):
            save(rounds.storage, name, query, rhythm, START)
    assert saved.forget(rounds.storage.notes, "bridges")
    rounds.store("c")
    rounds.round()
    assert output.urls == [["a"], ["b"]]


def test_a_note_of_another_version_is_read_and_written(rounds: Rounds, output: Output) -> None:
    """It may lack fields of this version, and may have fields that this version does not know."""
    notes = rounds.storage.notes
    save(rounds.storage, "bridges", "bridge", "at_once", START)
    note = notes.all(saved.KIND)["bridges"]
    older = {name: value for name, value in note.items() if name not in ("more", "waiting")}
    notes.save(saved.KIND, "bridges", {"colour": "red", **older})
    rounds.store("a")
    rounds.round()
    rounds.store("b")
    rounds.round()
    rounds.round()
    assert output.urls == [["a"], ["b"]]
    assert notes.all(saved.KIND)["bridges"]["colour"] == "red"
    save(rounds.storage, "bridges", "bridge", "hourly", START)
    assert notes.all(saved.KIND)["bridges"]["tell"] == "hourly"
