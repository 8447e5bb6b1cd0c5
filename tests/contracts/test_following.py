"""In every storage, a follower gets all changes of articles in order, at least once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from newsbot.apps.followers.following import LEASE, Follower, FollowerRun, Step, rewind, states
from newsbot.storage.articles import Changes
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import make_article

START = 1_795_000_000.0


class Sink(Follower):
    """Keeps the titles that it takes, unless it is away."""

    def __init__(self, position: str | None = None) -> None:
        self.titles: list[str | None] = []
        self.away, self.own, self.restarts = False, position, 0

    def position(self) -> str | None:
        return self.own

    def take(self, changes: Changes) -> None:
        if self.away:
            raise ConnectionError("no route")
        self.restarts += changes.restarted
        self.titles += [None if one.article is None else one.article.title for one in changes.found]
        if self.own is not None:
            self.own = changes.cursor

    def close(self) -> None:
        pass


class Place:
    """Followers of one storage, with a clock."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.now = storage, START

    def run(self, name: str, sink: Sink, owner: str = "a") -> FollowerRun:
        return FollowerRun(
            name, sink, self.storage.articles, self.storage.notes, owner=owner, clock=lambda: self.now
        )

    def store(self, *names: str) -> None:
        for name in names:
            self.storage.articles.store(make_article(name, f"Text of {name}.", title=name))


@pytest.fixture
def followed(storage: Storage) -> Iterator[Place]:
    with closing(storage):
        yield Place(storage)


def finish(run: FollowerRun) -> None:
    while run.step() is Step.TAKEN:
        pass


def test_a_follower_gets_changes_and_removals_in_order(followed: Place) -> None:
    sink = Sink()
    run = followed.run("sink", sink)
    assert run.step() in (Step.CURRENT, Step.TAKEN)
    followed.store("one", "two")
    finish(run)
    assert sink.titles == ["one", "two"]
    followed.storage.removal.articles(["https://example.org/one"])
    followed.store("three")
    finish(run)
    assert sink.titles == ["one", "two", None, "three"]
    assert run.step() is Step.CURRENT
    assert run.lag() == 0
    state = states(followed.storage.notes)["sink"]
    assert (state.taken, state.fault) == (4, "")


def test_a_follower_that_fails_gets_the_same_changes_again_and_others_do_not_wait(followed: Place) -> None:
    broken, good = Sink(), Sink()
    broken.away = True
    runs = followed.run("broken", broken), followed.run("good", good)
    followed.store("one")
    assert [run.step() for run in runs] == [Step.WAITING, Step.TAKEN]
    assert states(followed.storage.notes)["broken"].fault == "ConnectionError: no route"
    broken.away = False
    assert runs[0].step() is Step.WAITING
    followed.now += 1.0
    finish(runs[0])
    assert broken.titles == good.titles == ["one"]
    assert states(followed.storage.notes)["broken"].fault == ""


def test_pauses_after_faults_get_longer_up_to_five_minutes(followed: Place) -> None:
    sink = Sink()
    sink.away = True
    run = followed.run("sink", sink)
    followed.store("one")
    pauses = []
    for _ in range(12):
        run.step()
        due = states(followed.storage.notes)["sink"].next_try
        pauses.append(due - followed.now)
        followed.now = due
    assert pauses[:3] == [1.0, 2.0, 4.0]
    assert pauses[-1] == 300.0


def test_one_process_at_a_time_runs_a_follower(followed: Place) -> None:
    first, second = Sink(), Sink()
    here, there = followed.run("sink", first, "a"), followed.run("sink", second, "b")
    followed.store("one")
    assert here.step() is Step.TAKEN
    followed.store("two")
    assert there.step() is Step.ELSEWHERE
    followed.now += LEASE + 1  # the first process was killed
    finish(there)
    assert (first.titles, second.titles) == (["one"], ["two"])
    there.release()
    followed.store("three")
    finish(here)
    assert first.titles == ["one", "three"]


def test_a_lease_is_renewed_while_a_follower_takes_changes_for_a_long_time(
    followed: Place, monkeypatch
) -> None:
    first, second = Sink(), Sink()
    here, there = followed.run("sink", first, "a"), followed.run("sink", second, "b")
    followed.store("one")
    taken = first.take

    def slowly(changes: Changes) -> None:
        followed.now += LEASE - 1
        here.renew(followed.storage.notes)
        followed.now += LEASE - 1
        assert there.step() is Step.ELSEWHERE
        taken(changes)

    monkeypatch.setattr(first, "take", slowly)
    assert here.step() is Step.TAKEN
    monkeypatch.undo()
    assert here.step() is Step.CURRENT
    assert (first.titles, second.titles) == (["one"], [])


def test_changes_that_were_taken_but_not_recorded_are_taken_again(followed: Place, monkeypatch) -> None:
    sink = Sink()
    run = followed.run("sink", sink)
    followed.store("one")
    taken = sink.take

    def killed(changes: Changes) -> None:
        taken(changes)
        raise KeyboardInterrupt

    monkeypatch.setattr(sink, "take", killed)
    with pytest.raises(KeyboardInterrupt):
        run.step()
    monkeypatch.undo()
    followed.now += LEASE + 1
    finish(followed.run("sink", sink, "b"))
    assert sink.titles == ["one", "one"]


def test_a_follower_can_begin_again(followed: Place) -> None:
    sink = Sink()
    run = followed.run("sink", sink)
    followed.store("one", "two")
    finish(run)
    assert rewind(followed.storage, "sink")
    finish(run)
    assert sink.titles == ["one", "two"] * 2
    assert sink.restarts == 2


def test_a_follower_can_begin_again_at_a_date(followed: Place) -> None:
    sink = Sink()
    run = followed.run("sink", sink)
    for day, name in enumerate(("one", "two", "three")):
        followed.storage.articles.store(make_article(name, f"Text of {name}.", title=name, hours=24 * day))
    finish(run)
    followed.storage.removal.articles(["https://example.org/three"])
    last = make_article("two", hours=24).fetched_at
    assert last is not None
    assert rewind(followed.storage, "sink", last.timestamp())
    sink.titles.clear()
    finish(run)
    assert sink.titles == ["two", None]
    followed.storage.articles.store(make_article("four", "Text of four.", title="four", hours=-24))
    finish(run)
    assert sink.titles == ["two", None, "four"]


def test_a_follower_can_store_its_position_itself(followed: Place) -> None:
    sink = Sink(position="")
    followed.store("one", "two")
    finish(followed.run("sink", sink))
    finish(followed.run("sink", sink, "b"))
    assert sink.titles == ["one", "two"]
    assert states(followed.storage.notes)["sink"].cursor == ""


def test_changes_are_not_read_for_an_idle_follower(followed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Sink()
    run = followed.run("sink", sink)
    followed.store("one")
    monkeypatch.setattr(sink, "is_idle", lambda: True)
    monkeypatch.setattr(run, "_articles", None)  # nothing may be read
    assert run.step() is Step.CURRENT
