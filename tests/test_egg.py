"""All files are read from a zip without a checkout, above all from the egg of scrapyd-deploy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from newsbot import backends
from tests.crawls import World
from tests.scrapydserver import ROOT, SHIPPED, copy_project, scrapyd_deploy


@pytest.fixture(scope="module")
def egg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("egg")
    scrapyd_deploy(copy_project(folder, "http://127.0.0.1:1/"), os.environ, "--build-egg", "newsbot.egg")
    return folder / "newsbot.egg"


def test_the_egg_contains_all_files_that_the_code_reads(egg: Path) -> None:
    files = {
        str(path.relative_to(ROOT))
        for top in SHIPPED
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected = {
        name.replace("rules/", "newsbot/site_rules/", 1) if name.startswith("rules/") else name
        for name in files
    }
    with ZipFile(egg) as archive:
        assert expected <= set(archive.namelist())


def run_from(egg: Path, folder: Path, *words: str) -> str:
    """Run ``scrapy WORDS`` with the egg as the only source of newsbot."""
    environment = World(folder, None).environment(
        NEWSBOT_RULES="", PYTHONPATH=str(egg), SCRAPY_SETTINGS_MODULE="newsbot.settings"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_read_from_the_egg(egg: Path, tmp_path: Path) -> None:
    assert "newsbot.egg/newsbot/site_rules/lenta.ru.yaml:" in run_from(
        egg, tmp_path, "rules", "show", "lenta.ru"
    )


def test_the_demo_runs_from_the_egg(egg: Path, tmp_path: Path) -> None:
    out = run_from(egg, tmp_path, "demo", "--articles", "60", "--data", str(tmp_path / "demo"))
    assert "every article was stored exactly once" in out


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
from newsbot.apps.demo.server import load_sites
load_sites()
for name in settings["SPIDER_MODULES"]:
    import_module(name)
from newsbot.apps.redis.index import RedisIndex
from newsbot.apps.redis.connection import lua_script
LUA = ("frontier", "lease"), ("index", "insert")
print(json.dumps({
    "file": newsbot.__file__,
    "rules": sorted(rule.domain for rule in rules),
    "intervals": len(rules.defaults.interval),
    "spider": NewsSpider.name,
    "lua": "".join(lua_script(folder, name).text[:2] for folder, name in LUA),
}))
"""


def inside(package: Path, folder: Path) -> Any:
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


def check(result: Any, package: Path) -> None:
    assert result["file"].startswith(str(package))
    assert result["rules"] == sorted(rule.domain for rule in backends.open_rules({}))
    assert len(result["rules"]) >= 30
    assert result["intervals"] == 5
    assert result["spider"] == "news"
    assert result["lua"] == "----"


def test_the_package_runs_from_a_zip_with_its_rules(tmp_path: Path) -> None:
    package = tmp_path / "newsbot.zip"
    with ZipFile(package, "w") as archive:
        for path in (ROOT / "newsbot").rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(ROOT))
        for path in (ROOT / "rules").glob("*.yaml"):
            archive.write(path, Path("newsbot/site_rules") / path.name)
    check(inside(package, tmp_path), package)


def test_the_egg_has_all_parts_of_a_crawl_and_the_rules(egg: Path, tmp_path: Path) -> None:
    check(inside(egg, tmp_path), egg)


COMPILED = """
import sys
sys.addaudithook(lambda event, given: event == "compile" and print(given[1]))
import newsbot.spiders.news
"""


def test_no_module_of_the_egg_is_compiled_again(egg: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(egg)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [name for name in done.stdout.splitlines() if name.startswith(str(egg))] == []
