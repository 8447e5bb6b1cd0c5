"""Which backend is used for which purpose, and where rules are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from newsbot import backends
from newsbot.backends import (
    data_file,
    data_folder,
    open_frontier,
    open_index,
    open_storage,
    place_of_data,
    rules_folder,
)
from newsbot.errors import DataError, DataUnavailable, RulesError
from newsbot.pages.rules import load
from testbed.servers import free_port
from tests.crawls import ROOT


def test_the_data_folder_is_a_setting(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert data_folder({}) == ROOT / "data"
    assert data_folder({"NEWSBOT_DATA": ""}) == ROOT / "data"
    assert data_file({"NEWSBOT_DATA": "~/news"}) == Path("/home/somebody/news/newsbot.db")


def test_the_places_of_articles_and_queue_are_named_without_passwords(tmp_path):
    folder = {"NEWSBOT_DATA": str(tmp_path)}
    assert place_of_data(folder) == f"data: {tmp_path}"
    queue = {**folder, "REDIS_URL": "redis://news:secret@queue.example:6379/1"}
    assert place_of_data(queue) == f"articles: {tmp_path}, queue: redis://***@queue.example:6379/1"
    both = {**queue, "MONGO_URI": "mongodb://news:secret@store.example/news"}
    assert place_of_data(both) == (
        "articles: mongodb://***@store.example/news, queue: redis://***@queue.example:6379/1"
    )


def test_one_file_serves_all_roles(tmp_path):
    settings = {"NEWSBOT_DATA": str(tmp_path / "deep" / "data")}
    for role in (open_frontier, open_storage, open_index):
        role(settings).close()
    assert data_file(settings).is_file()


def test_the_frontier_keeps_the_clock_it_is_given(tmp_path):
    frontier = open_frontier({"NEWSBOT_DATA": str(tmp_path)}, lambda: 1000.0)
    frontier.back_off("a.test", 5)
    frontier.close()


def test_the_queue_is_in_redis_where_its_url_is_set(tmp_path, redis_url):
    settings = {"NEWSBOT_DATA": str(tmp_path / "data"), "REDIS_URL": redis_url}
    frontier = open_frontier(settings)
    assert type(frontier).__name__ == "RedisFrontier"
    frontier.close()
    assert not (tmp_path / "data").exists()


def test_an_unreachable_redis_is_a_data_error(tmp_path):
    settings = {"NEWSBOT_DATA": str(tmp_path), "REDIS_URL": f"redis://:secret@127.0.0.1:{free_port()}/0"}
    with pytest.raises(DataUnavailable, match=r"^redis://127.0.0.1:\d+/0: cannot be reached"):
        open_frontier(settings)


def test_a_folder_that_cannot_be_created_is_a_data_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file"):
        open_storage({"NEWSBOT_DATA": str(tmp_path / "file" / "data")})


def test_rules_and_data_come_from_the_setting_or_the_project_or_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert rules_folder({"NEWSBOT_RULES": "~/rules"}) == Path("/home/somebody/rules")
    assert rules_folder({}) == ROOT / "rules"
    (tmp_path / "project" / "rules" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "rules" / "inner")
    assert (data_folder({}), rules_folder({})) == (Path("data"), ROOT / "rules")
    (tmp_path / "project" / "scrapy.cfg").touch()
    project = tmp_path / "project"
    assert (data_folder({}), rules_folder({})) == (project / "data", project / "rules")
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "lib" / "newsbot" / "pages" / "rules" / "load.py"
    monkeypatch.setattr(load, "__file__", str(elsewhere))
    assert str(rules_folder({})) == str(ROOT / "newsbot" / "site_rules")


def test_all_problems_of_invalid_rules_are_reported(tmp_path):
    (tmp_path / "a.test.yaml").write_text("domain: b.test\n")
    (tmp_path / "c.test.yaml").write_text("domain: c.test\nfeds: x\n")
    with pytest.raises(RulesError) as caught:
        backends.open_rules({"NEWSBOT_RULES": str(tmp_path)})
    assert len(caught.value.problems) == 2


def test_settings_of_scrapy_redis_without_effect_are_named():
    ignored = backends.ignored_settings
    assert ignored({"SCHEDULER_PERSIST": False}) == [], "without Redis the setting has no effect"
    assert ignored({"REDIS_HOST": "127.0.0.1"}) == ["REDIS_HOST"], (
        "otherwise the crawl would silently use a file"
    )
    assert ignored({"REDIS_PARAMS": '{"host": "127.0.0.1"}'}) == ["REDIS_PARAMS"]
    redis = {"REDIS_URL": "redis://127.0.0.1/", "REDIS_PARAMS": {"db": 1}}
    assert ignored(redis | {"SCHEDULER_PERSIST": True}) == []
    assert ignored(redis | {"SCHEDULER_PERSIST": False, "SCHEDULER_FLUSH_ON_START": True}) == [
        "SCHEDULER_PERSIST=False",
        "SCHEDULER_FLUSH_ON_START",
    ]
