"""Which backend is used for which purpose, and where rules are found: on disk, or in the egg of scrapyd."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
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


# --- inside a package that is one zipped file
PROBE = """
import json, newsbot
from importlib import import_module
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
from newsbot import backends
settings = Settings()
settings.setmodule("newsbot.settings")
from newsbot.spiders.news import NewsSpider
NewsSpider.update_settings(settings)
rules = backends.open_rules(settings)
parts = [settings["SCHEDULER"], settings["TWISTED_DNS_RESOLVER"], settings["LOG_FORMATTER"]]
for group in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS"):
    parts += [name for name, order in settings.getdict(group).items() if order is not None]
for name in parts:
    load_object(name)
from newsbot.apps.demo.publishing import load_sites
load_sites()
for name in settings["SPIDER_MODULES"]:
    import_module(name)
from newsbot.dedup.redis import RedisIndex
from newsbot.connections.redis import lua_script
LUA = ("frontier", "lease"), ("dedup", "insert")
print(json.dumps({
    "file": newsbot.__file__,
    "rules": sorted(rule.domain for rule in rules),
    "intervals": len(rules.defaults.interval),
    "spider": NewsSpider.name,
    "lua": "".join(lua_script(f"{folder}/lua", name).text[:2] for folder, name in LUA),
}))
"""


def inside(package, folder):
    """Import newsbot from a zipped package, outside the project, and return the result."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSBOT_")}
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", PROBE],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(result, package):
    assert result["file"].startswith(str(package))
    assert result["rules"] == sorted(rule.domain for rule in backends.open_rules({}))
    assert len(result["rules"]) >= 30
    assert result["intervals"] == 5
    assert result["spider"] == "news"
    assert result["lua"] == "----"


def test_the_package_runs_from_a_zip_with_its_rules(tmp_path):
    package = tmp_path / "newsbot.zip"
    with zipfile.ZipFile(package, "w") as archive:
        for path in (ROOT / "newsbot").rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(ROOT))
        for path in (ROOT / "rules").glob("*.yaml"):
            archive.write(path, Path("newsbot/site_rules") / path.name)
    check(inside(package, tmp_path), package)


def test_the_egg_for_scrapyd_contains_the_rules(tmp_path):
    pytest.importorskip("setuptools", reason="builds the egg; Python 3.12 and newer bring none")
    project = tmp_path / "project"
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("newsbot", "rules"):
        shutil.copytree(ROOT / name, project / name, ignore=skip)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "scrapy.cfg"):
        shutil.copy(ROOT / name, project / name)
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "bdist_egg", "-d", str(tmp_path)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr
    [egg] = tmp_path.glob("*.egg")
    assert zipfile.is_zipfile(egg)
    shutil.rmtree(project)
    check(inside(egg, tmp_path), egg)


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
