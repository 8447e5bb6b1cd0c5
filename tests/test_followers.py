"""Each follower runs in a thread of its own: a slow or broken one does not delay the others."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.alerts import rules as book
from newsbot.apps.alerts import saved
from newsbot.apps.alerts.extension import SEARCHES_LOCK, SENDING, Options, SearchNotices
from newsbot.apps.alerts.rules import Limits
from newsbot.apps.followers import following as followers
from newsbot.apps.followers.following import Follower, FollowerThread, open_followers, states
from newsbot.errors import UserError
from newsbot.storage.articles import Changes
from newsbot.storage.sqlite import SqliteStorage
from tests.contracts.storage_samples import make_article

WAIT = 30.0
"""Seconds after which a test fails instead of waiting for ever."""


class Titles(Follower):
    """Keeps titles. ``gate`` holds up each batch until it is set."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.titles: list[str] = []
        self.gate, self.begun, self.done = gate, threading.Event(), threading.Event()

    def position(self) -> str | None:
        return None

    def take(self, changes: Changes) -> None:
        self.begun.set()
        if self.gate is not None:
            self.gate.wait(WAIT)
        self.titles += [one.article.title for one in changes.found if one.article is not None]
        if changes.found:
            self.done.set()

    def close(self) -> None:
        pass


class Broken(Titles):
    def position(self) -> str | None:
        raise RuntimeError("no position")

    def close(self) -> None:
        raise RuntimeError("cannot close")


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        storage.articles.store(make_article("one", "Text of one.", title="one"))
    return {"NEWSBOT_DATA": str(tmp_path)}


def run(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], **found: Titles) -> FollowerThread:
    monkeypatch.setattr(followers, "open_followers", lambda *_given, **_more: found)
    thread = FollowerThread(settings)
    thread.start()
    return thread


def test_a_slow_follower_does_not_delay_the_others(monkeypatch, settings) -> None:
    gate = threading.Event()
    slow, quick = Titles(gate), Titles()
    thread = run(monkeypatch, settings, slow=slow, quick=quick)
    assert slow.begun.wait(WAIT)
    assert quick.done.wait(WAIT)
    assert slow.titles == []
    gate.set()
    thread.stop(finish=True)
    assert slow.titles == quick.titles == ["one"]


def test_a_follower_that_raises_anything_does_not_stop_the_others(
    monkeypatch, settings, tmp_path, caplog
) -> None:
    good = Titles()
    thread = run(monkeypatch, settings, broken=Broken(), good=good)
    assert good.done.wait(WAIT)
    thread.stop(finish=True)
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        assert states(storage.notes)["broken"].fault == "RuntimeError: no position"
    assert caplog.text.count('raise RuntimeError("no position")') == 1  # the traceback


def test_an_error_for_people_is_logged_without_a_traceback(monkeypatch, settings, tmp_path, caplog) -> None:
    class Away(Titles):
        def take(self, changes: Changes) -> None:
            super().take(changes)
            raise UserError("the server does not respond")

    away = Away()
    thread = run(monkeypatch, settings, away=away)
    assert away.done.wait(WAIT)
    thread.stop(finish=True)
    assert "follower=away fault=the server does not respond; it is tried again" in caplog.text
    assert "Traceback" not in caplog.text


def test_the_end_of_a_crawl_does_not_wait_for_a_follower_that_hangs(
    monkeypatch, settings, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(followers, "FINISH", 0.2)
    gate = threading.Event()
    slow = Titles(gate)
    thread = run(monkeypatch, settings, slow=slow)
    assert slow.begun.wait(WAIT)
    thread.stop(finish=True)
    assert "followers=slow are still at work" in caplog.text
    gate.set()


def test_an_app_whose_followers_cannot_be_opened_does_not_stop_the_others(
    monkeypatch, settings, caplog: pytest.LogCaptureFixture
) -> None:
    from newsbot.config.apps import App

    def broken(_settings: Any) -> Any:
        raise KeyError("MINE_FILE")

    places = {"a:f": broken, "b:f": lambda _settings: {"good": Titles()}}
    apps = [App(name=name, package=name, followers=(f"{name}:f",)) for name in ("a", "b")]
    monkeypatch.setattr(followers, "active_apps", lambda _wanted: apps)
    monkeypatch.setattr(followers, "load", places.__getitem__)
    assert list(open_followers(settings, machine=False)) == ["good"]
    assert "the followers of the app a do not run" in caplog.text


def test_the_second_of_two_followers_with_one_name_is_reported(
    monkeypatch, settings, caplog: pytest.LogCaptureFixture
) -> None:
    from newsbot.config.apps import App

    first, second = Titles(), Titles()
    places = {"a:f": lambda _settings: {"same": first}, "b:f": lambda _settings: {"same": second}}
    apps = [App(name=name, package=name, followers=(f"{name}:f",)) for name in ("a", "b")]
    monkeypatch.setattr(followers, "active_apps", lambda _wanted: apps)
    monkeypatch.setattr(followers, "load", places.__getitem__)
    assert open_followers(settings, machine=False) == {"same": first}
    assert "a follower of the app b does not run: the app a has a follower with the same name" in caplog.text


def test_a_notice_waits_for_a_round_that_holds_the_lock(settings, tmp_path: Path) -> None:
    sent: list[Any] = []

    class Output:
        name = "fake"

        def send(self, messages: Any) -> None:
            sent.extend(messages)

    options = Options(outputs=(Output(),), limits=Limits(), every=300.0, folder=None, tagged=lambda _tag: ())
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        saved.save(storage, "bridges", "bridge", "at_once", time.time())
        storage.articles.store(make_article("two", "The bridge is open.", title="two"))
        assert book.take_lock(storage.notes, "round", time.time(), SENDING, SEARCHES_LOCK)
        changes = storage.articles.changes_since("")

    def take() -> None:
        follower = SearchNotices(settings, options)
        follower.take(changes)
        follower.close()

    taking = threading.Thread(target=take)
    taking.start()
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        taking.join(0.3)
        book.drop_lock(storage.notes, "round", SEARCHES_LOCK)
        taking.join(WAIT)
    assert [one.title for one in sent] == ["bridges: 1 new article"]
