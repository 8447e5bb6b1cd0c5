"""``scrapy simulate compare`` and ``plan``: results, replays, a user's own policy, bad input."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq
import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.simulator import model
from newsbot.apps.simulator.site_world import (
    FEED,
    PAGE,
    SECTION,
    UNITS,
    Recorded,
    SiteSettings,
    from_pages,
    from_polls,
    read_settings,
)
from newsbot.apps.simulator.strategies import STRATEGIES, estimate, read_targets
from newsbot.errors import ArgumentError
from newsbot.items import Event, Kind, PageRecord
from newsbot.storage.base import Poll, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Answer, Place

SMALL = "feeds=15,sections=5,days=3,learn=1,hosts=4"
DAY = 86400
BEGIN = 1_700_000_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def compare(place: Place, *words: str, **settings: str) -> Answer:
    return place.run("simulate", "--json", "compare", "--world", SMALL, *words, **settings)


def test_all_policies_on_feeds_sections_and_pages(place: Place) -> None:
    names = ",".join(STRATEGIES)
    out = place.folder / "out"
    words = ("--world", SMALL + ",pages=10", "--policies", names, "--seeds", "2", "--out", str(out))
    answer = place.run("simulate", "--json", "compare", *words)
    assert answer.code == 0, answer.err
    found = {one["policy"]: one for one in answer.json["policies"]}
    assert set(found) == set(STRATEGIES)
    for one in found.values():
        assert set(one["figures"]) == set(UNITS) == set(answer.json["units"])
        assert set(one["kinds"]) == {"feed", "section", "page"}
        assert 0 < one["figures"]["freshness"]["mean"] <= 100
        assert len(one["hosts"]) == 4
    assert found["push"]["figures"]["median"]["mean"] < 2
    assert found["cyclic"]["figures"]["visits"]["mean"] == pytest.approx(12, rel=0.05)
    report = (out / "report.html").read_text()
    assert report.count("<svg") == 4
    assert report.count('<path d="M') > 3 * len(STRATEGIES)
    assert "NaN" not in report
    assert "nan" not in report.replace("finance", "")
    rows = pq.read_table(out / "policies.parquet").to_pylist()
    assert len(rows) == 4 * len(STRATEGIES)
    assert len(pq.read_table(out / "policy_seeds.parquet")) == 2 * len(STRATEGIES)
    history = pq.read_table(out / "history.parquet").to_pylist()
    assert {(one["policy"], one["kind"]) for one in history} == {
        (name, kind) for name in STRATEGIES for kind in ("feed", "section", "page")
    }
    assert all(one["seen"] >= one["changed"] for one in history)
    assert {path.suffix for path in out.iterdir()} == {".csv", ".parquet", ".html"}


def test_the_same_seed_gives_the_same_result(place: Place) -> None:
    words = ("--policies", "newsbot,random,push_queue", "--seeds", "1")
    first = compare(place, *words)
    assert compare(place, *words).out == first.out
    assert compare(place, *words, "--seed", "2").out != first.out
    assert first.json["policies"][0]["figures"]["mean"]["low"] is None  # one seed has no interval


def test_the_readable_output_is_a_table(place: Place) -> None:
    answer = place.run(
        "simulate", "compare", "--world", SMALL, "--policies", "cyclic,cyclic+head", "--seeds", "2"
    )
    assert [row[0] for row in answer.rows[:2]] == ["cyclic", "cyclic+head"]
    assert "±" in answer.rows[0][1]
    assert "15 feeds, 5 section pages on 4 hosts" in answer.out


def test_kinds_of_requests(place: Place) -> None:
    answer = compare(place, "--policies", "cyclic,cyclic+head,cyclic+plain", "--seeds", "1")
    conditional, head, plain = (one["figures"] for one in answer.json["policies"])
    assert conditional["megabytes"]["mean"] < plain["megabytes"]["mean"]
    assert head["megabytes"]["mean"] < plain["megabytes"]["mean"]
    assert conditional["requests"]["mean"] < head["requests"]["mean"]
    assert conditional["mean"] == head["mean"] == plain["mean"]


def test_the_minimum_budget_for_a_target(place: Place) -> None:
    """With equal intervals the mean delay is half an interval: 30 minutes need 24 visits per day."""
    world = "feeds=60,sections=0,days=5,learn=2,sigma=0,median=20,response=0,host_delay=0"
    words = ("--world", world, "--policies", "cyclic,push", "--target", "mean<30m")
    answer = place.run("simulate", "--json", "plan", *words)
    cyclic, push = answer.json["policies"]
    assert 23 < cyclic["budget"] < 26
    assert cyclic["figures"]["mean"]["mean"] < 30
    assert push["figures"]["median"]["mean"] < 30
    never = place.run("simulate", "plan", *words[:-1], "mean<10s", "--seeds", "1")
    assert never.code == 0
    assert "not met at any budget up to 288 visits per day: cyclic, push" in never.out


def polls_of(url: str, every: int, news: list[int], **values: Any) -> list[tuple[str, Poll]]:
    about = {"shown": 20, "size": 5000, "unchanged": False} | values
    return [(url, Poll(at=BEGIN + every * place, new=new, **about)) for place, new in enumerate(news)]


def test_a_replay_has_the_recorded_events() -> None:
    polls = [
        *polls_of("https://a.example/feed", 3600, [20, 0, 3, 1, 0, 2]),
        *polls_of("https://a.example/front", 7200, [40, 5, 0, 1], size=9000),
        *polls_of("https://b.example/feed", 60, [1, 1]),  # too short for an estimate
        *polls_of("https://b.example/rude", 7200, [2, 0, 0], unchanged=True),
    ]
    sources = from_polls(polls, {"https://a.example/front": Kind.SECTION})
    assert [(one.kind, one.events, one.ignores) for one in sources] == [
        (FEED, 6, False), (SECTION, 6, False), (FEED, 0, True),
    ]  # fmt: skip
    worlds = Recorded(sources, SiteSettings())
    world, other = worlds.of_seed(1), worlds.of_seed(2)
    assert world.hosts == ["a.example", "b.example"]
    assert world.window.tolist() == [20, 40, 20]
    assert (world.moments != other.moments).any()
    for one in (world, other):
        at = one.born[0] + 3600.0 * (1 + np.arange(5))
        assert one.published(np.zeros(5, int), at).tolist() == [0, 3, 4, 4, 6]
    origin = BEGIN - world.begin
    assert origin % (7 * DAY) == 0  # so that hours and weekdays are the real ones


def page(url: str, found: list[bool | None]) -> PageRecord:
    history: list[Event] = [
        {"at": BEGIN + DAY * number, "event": "planned", "changed": one} for number, one in enumerate(found)
    ]
    return PageRecord(
        url=url,
        fingerprint=url.encode(),
        host="a.example",
        source="a.example",
        kind=Kind.ARTICLE,
        history=history,
    )


def test_pages_of_a_record() -> None:
    pages = from_pages(
        [page("https://a.example/1", [None, True, False, True]), page("https://a.example/2", [None])]
    )
    assert [(one.kind, one.events) for one in pages] == [(PAGE, 2)]


def test_from_data(place: Place) -> None:
    assert "no crawl has run yet" in compare(place, "--from-data").err
    with place.storage() as storage:
        replay(place, storage)


def test_from_data_of_mongodb(place: Place, mongo_uri: str, tmp_path: Path) -> None:
    name = f"replay_{uuid4().hex}"
    uri = urlsplit(mongo_uri)._replace(path=f"/{name}").geturl()
    with closing(MongoStorage(mongo_uri, database=name)) as storage:
        try:
            replay(place, storage, MONGO_URI=uri)
        finally:
            with MongoClient[dict[str, Any]](mongo_uri) as client:
                client.drop_database(name)


def replay(place: Place, storage: SqliteStorage | MongoStorage, **settings: str) -> None:
    """Fill the storage step by step, and run a comparison on its data."""
    url = "https://example.org/rss.xml"
    storage.sources.save([SourceRecord(url=url, source="example.org", kind=Kind.FEED)])
    assert "no data to replay" in compare(place, "--from-data", **settings).err
    for where, poll in polls_of(url, 3600, [1, 0, 2, 0] * 20):
        storage.sources.log_poll(where, poll)
    storage.pages.discover([page("https://example.org/1", [])])
    storage.pages.save([page("https://example.org/1", [None, True, False])])
    answer = compare(place, "--from-data", "--policies", "newsbot,cyclic", "--seeds", "2", **settings)
    assert answer.code == 0, answer.err
    assert answer.json["world"] == (
        "recorded: 1 feed, 1 page, 60 events in 3.3 days, the first third not counted"
    )
    for one in answer.json["policies"]:
        assert 0 < one["figures"]["mean"]["mean"] < DAY / 60


OWN = '''
class Own:
    """Every hour."""

    def __init__(self, task):
        self.wait = task.interval

    def next_polls(self, polled):
        return polled.at + self.wait

    def spend(self, requests, hours):
        pass
'''


def test_a_user_defined_policy(place: Place) -> None:
    path = place.folder / "own.py"
    path.write_text(OWN)
    own, cyclic = compare(place, "--policies", f"{path},cyclic", "--seeds", "1").json["policies"]
    assert own["policy"] == str(path)
    assert own["figures"] == cyclic["figures"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("polled.at + self.wait", "polled.nothing"), "own.py:9: AttributeError"),
        (OWN.replace("polled.at + self.wait", "3.0"), "next_polls must return one time"),
        (OWN.replace("def next_polls", "def other"), "has 0 classes with next_polls"),
        (OWN.replace("class Own:", "class Own"), "own.py:2: "),
        (OWN.replace("self.wait = task.interval", "raise ValueError('no')"), "own.py:6: ValueError: no"),
    ],
)
def test_errors_of_a_user_defined_policy_are_reported_in_one_line(
    place: Place, text: str, message: str
) -> None:
    path = place.folder / "own.py"
    path.write_text(text)
    answer = compare(place, "--policies", str(path))
    assert answer.code == 1
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policies", "newbot"), "unknown policy 'newbot' (did you mean 'newsbot'?)"),
        (("--policies", "cyclic,cyclic"), "cyclic is given twice"),
        (("--policies", ""), "1 to 16 are needed, 0 are given"),
        (
            ("--policies", "cyclic+heat"),
            "'heat' is not a type of requests; allowed: conditional, head, plain",
        ),
        (("--policies", "gone.py"), "the file does not exist"),
        (("--budget", "0"), "must be 0.25 to 288"),
        (("--budget", "nan"), "must be 0.25 to 288"),
        (("--world", "feds=3"), "unknown key 'feds' (did you mean 'feeds'?)"),
        (("--world", "feeds=-3"), "feeds=-3: must be 0 to 100000"),
        (("--world", "feeds=2.5"), "feeds=2.5: is not a whole number"),
        (("--world", "median="), "median=: is not a number"),
        (("--world", "feeds=1,feeds=2"), "feeds is given twice"),
        (("--world", "feeds=0,sections=0"), "at least one feed, section or page is needed"),
        (("--world", "days=5"), "learn=5: must be less than days=5"),
        (("--loss", "150%"), "must be a share such as 5% or 0.05"),
        (("--safety", "1s"), "must be 300 seconds to 30 days"),
        (("--notice", "soon"), "not a duration"),
        (("--seeds", "1000"), "at most 200"),
        (("--servers", "0"), "not a whole number above 0"),
        (("--request", "heat"), "did you mean 'head'"),
    ],
)
def test_wrong_usage(place: Place, words: tuple[str, str], message: str) -> None:
    answer = place.run("simulate", "compare", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("p95>30m", "p95 needs an upper bound; use < instead of >"),
        ("freshness<90%", "freshness needs a lower bound; use > instead of <"),
        ("p96<30m", "unknown figure 'p96' (did you mean 'p9"),
        ("p95<30", "is not a duration"),
        ("lost<2h", "is not a share"),
        ("lost<101%", "is not a share"),
        ("soon", "write for example p95<30m"),
        (",", "--target: is empty"),
    ],
)
def test_wrong_targets(target: str, message: str) -> None:
    with pytest.raises(ArgumentError, match="--target") as error:
        read_targets(target)
    assert message in str(error.value)


def test_targets() -> None:
    late, lost, fresh = read_targets("p95<30m, lost<=1%,freshness>=90")
    assert (late.figure, late.bound, late.met(29.9), late.met(30.0)) == ("p95", 30.0, True, False)
    assert (lost.met(1.0), lost.met(1.01)) == (True, False)
    assert (fresh.met(90.0), fresh.met(89.0), fresh.met(float("nan"))) == (True, False, False)


def test_a_world_too_large_for_memory_is_refused_before_it_is_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "available_memory", lambda: 10**6)
    answer = place.run("simulate", "compare", "--out", str(place.folder / "out"))
    assert answer.code == 1
    assert "a world of 200 sources and 14 days would need" in answer.err
    assert not (place.folder / "out").exists()


def test_confidence_intervals_use_students_t() -> None:
    """For 1, 2, 3: mean 2, standard error 1/√3, t with two degrees of freedom 4.303."""
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.high - 2 == pytest.approx(4.303 / 3**0.5)
    assert found.low + found.high == pytest.approx(4)
    many = estimate([0.0, 1.0] * 50)
    assert many.high - many.mean == pytest.approx(1.96 * 0.5025 / 10, rel=0.01)


def test_given_settings_replace_the_defaults() -> None:
    found = read_settings("feeds=3, window=7 ,median=2.5")
    assert (found.feeds, found.window, found.median, found.sections) == (3, 7, 2.5, SiteSettings().sections)
