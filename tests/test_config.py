"""The table of settings: source of defaults, environment variables, checks, hints and docs/settings.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from newsbot.config.settings import (
    AGE,
    ANY,
    COMMAND,
    LEVEL,
    PARTS,
    PATH,
    SETTINGS,
    SWITCH,
    TEXT,
    URL,
    WORDS,
    check_parts,
    check_settings,
    defaults,
    number_of,
    unknown_names,
    value_of,
)
from newsbot.errors import ArgumentError
from newsbot.spiders.news import NewsSpider
from tests import warm
from tests.commandline import Place
from tests.crawls import ROOT, World
from tests.settings_page import document

NO_SUCH = "there is no such setting"
NUMBERS = sorted(
    name for name, one in SETTINGS.items() if one.kind.greatest > one.kind.least > -1 and one.kind is not AGE
)


def refused(name: str, value: object) -> str:
    """Return the error message for a value."""
    with pytest.raises(ArgumentError) as raised:
        check_settings({name: value})
    line = str(raised.value)
    assert line.startswith(f"{name}=")
    assert line.endswith(f": must be {SETTINGS[name].kind.must}")
    assert "\n" not in line
    return line


# --- values


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["abc", "nan", "-1", "1e400", [1], "", float("nan")])
def test_values_that_are_not_numbers_within_the_bounds_are_refused(name: str, value: object) -> None:
    if value == "1e400" and SETTINGS[name].kind.greatest == float("inf"):
        pytest.skip("it has no upper bound")
    refused(name, value)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_bounds_themselves_are_allowed(name: str) -> None:
    for value in (SETTINGS[name].kind.least, SETTINGS[name].kind.greatest):
        assert number_of({name: str(value)}, name) == value
    check_settings({name: None})


WRONG: dict[Any, tuple[object, ...]] = {
    SWITCH: ("maybe", "", 2, [1]),
    PATH: (7, ["a"], "a\0b", b"a"),
    TEXT: (7, ["a"]),
    WORDS: (7, [1]),
    COMMAND: (7, [1]),
    URL: ("news.example.org", "ftp://example.org/", "http://", "http://[x/", 7),
    LEVEL: ("LOUD", "info", "", ["INFO"]),
    AGE: ("soon", "1s", "-1d", ["90d"]),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(one.name, value) for one in SETTINGS.values() for value in WRONG.get(one.kind, ())],
)
def test_values_of_a_wrong_type_are_refused(name: str, value: object) -> None:
    refused(name, value)


def test_each_setting_is_checked() -> None:
    assert {one.name for one in SETTINGS.values() if one.kind is ANY} == {"REDIS_PARAMS", "SCHEDULER_PERSIST"}
    assert len({one.kind for one in SETTINGS.values()} - set(WRONG) - {ANY}) >= 10  # the numeric settings


def test_the_defaults_have_valid_types() -> None:
    check_settings(dict(defaults({})))
    check_settings({})


def test_a_message_shows_no_password() -> None:
    assert refused("NEWSBOT_PUBLIC_URL", "ftp://me:hidden@x.test/") == (
        "NEWSBOT_PUBLIC_URL=ftp://***@x.test/: must be a URL that begins with http:// or https://"
    )
    assert "hidden" not in refused("NEWSBOT_ALERT_WEBHOOK", "hidden")
    assert "hidden" not in refused("MONGO_URI", ["hidden"])


def test_values_are_read() -> None:
    assert value_of({"NEWSBOT_KEEP_RAW": "90d"}, "NEWSBOT_KEEP_RAW") == 90 * 86400
    assert value_of({}, "NEWSBOT_KEEP_RAW") is None
    assert number_of({}, "NEWSBOT_NEAR_DAYS") == 30
    assert value_of({"NEWSBOT_ALLOW_PRIVATE": "1"}, "NEWSBOT_ALLOW_PRIVATE") is True


@pytest.mark.parametrize("words", [("crawl", "news"), ("serve", "--port", "0"), ("articles", "stories")])
def test_a_command_reports_a_wrong_value_in_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    world = World(tmp_path, None)
    world.rule("news.test")
    for option, line in (
        ("NEWSBOT_LEASE_SECONDS=0", "must be a number, 1 to 86400"),
        ("NEWSBOT_LOG_JSON=maybe", "must be 1 (on) or 0 (off)"),
    ):
        command = [sys.executable, "-m", "scrapy", *words, "-s", option]
        done = warm.run(command, cwd=ROOT, env=world.environment())
        assert done.returncode == 2
        assert done.stderr == f"scrapy {words[0]}: {option}: {line}\n"


# --- defaults and environment


def test_the_settings_module_has_all_settings() -> None:
    settings = Settings()
    settings.setmodule("newsbot.settings")
    for one in SETTINGS.values():
        if one.default is not None and not (one.environment and os.environ.get(one.environment)):
            assert settings.get(one.name) == one.default, one.name


def test_a_settings_module_of_a_user_can_import_all_settings(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from newsbot.settings import *\nNEWSBOT_PATIENCE = 7\n")
    names = ("NEWSBOT_PATIENCE", "NEWSBOT_EXPLORE", "NEWSBOT_WARC_SIZE", "BOT_NAME", "NEWSBOT_RETRY_SCALE")
    values = scrapy_settings(names, SCRAPY_SETTINGS_MODULE="mine", PYTHONPATH=str(tmp_path))
    assert values == ["7", "0.04", "1000000000", "newsbot", "1"]


def scrapy_settings(names: tuple[str, ...], **environment: str) -> list[str]:
    """Return the output of ``scrapy settings --get`` for each name."""
    path = os.pathsep.join(filter(None, (environment.pop("PYTHONPATH", ""), str(ROOT))))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NEWSBOT_")}
    values = []
    for name in names:
        command = [sys.executable, "-m", "scrapy", "settings", "--get", name]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**clean, "PYTHONPATH": path, **environment},
            capture_output=True,
            check=True,
        )
        values.append(done.stdout.decode().strip())
    return values


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("NEWSBOT_DATA", "/x", "NEWSBOT_DATA", "/x"),
        ("NEWSBOT_DATA", "", "NEWSBOT_DATA", ""),
        ("NEWSBOT_TDMREP", "no", "NEWSBOT_TDMREP", False),
        ("NEWSBOT_TDMREP", "", "NEWSBOT_TDMREP", True),
        ("NEWSBOT_ALLOW_PRIVATE", "yes", "NEWSBOT_ALLOW_PRIVATE", True),
        ("NEWSBOT_ALLOW_PRIVATE", "maybe", "NEWSBOT_ALLOW_PRIVATE", "maybe"),
        ("NEWSBOT_LOG_LEVEL", "DEBUG", "LOG_LEVEL", "DEBUG"),
        ("LOG_LEVEL", "DEBUG", "LOG_LEVEL", "INFO"),
        ("NEWSBOT_PATIENCE", "5", "NEWSBOT_PATIENCE", 120.0),
    ],
)
def test_the_environment(variable: str, text: str, name: str, value: object) -> None:
    assert dict(defaults({variable: text}))[name] == value


# --- names


@pytest.mark.parametrize(
    ("values", "environment", "starts"),
    [
        ({}, {}, []),
        ({"NEWSBOT_ALERT_LAG": 5, "LOG_LEVEL": "INFO"}, {"NEWSBOT_CONTACT": "me", "PATH": "x"}, []),
        ({"NEWSBOT_CONTCT": "me"}, {}, [f"NEWSBOT_CONTCT: {NO_SUCH} (did you mean 'NEWSBOT_CONTACT'?)"]),
        ({"NEWSBOT_ZZZ": "me"}, {}, [f"NEWSBOT_ZZZ: {NO_SUCH}; see"]),
        (
            {},
            {"NEWSBOT_DATE": "x"},
            [f"NEWSBOT_DATE (environment): {NO_SUCH} (did you mean 'NEWSBOT_DATA'?)"],
        ),
        ({}, {"NEWSBOT_ALERT_LAG": "5"}, ["NEWSBOT_ALERT_LAG: is not read from the environment"]),
        ({}, {"NEWSBOT_ALERT_LAG": "", "NEWSBOT_TEST_MONGO_URI": "x"}, []),
        ({}, {"NEWSBOT_LOG_LEVEL": "INFO"}, []),
    ],
)
def test_names(values: Mapping[str, object], environment: dict[str, str], starts: list[str]) -> None:
    lines = list(unknown_names(Settings(dict(values)), environment))
    assert len(lines) == len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))


def test_a_command_warns_and_continues(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.storage():
        pass
    answer = place.run("articles", "search", "x", "-s", "NEWSBOT_CONTCT=me", "--json")
    assert (answer.code, answer.json) == (0, [])
    assert "NEWSBOT_CONTCT: there is no such setting (did you mean 'NEWSBOT_CONTACT'?)" in answer.err


def test_a_crawl_warns_and_continues(world: World) -> None:
    world.rule("news.test", "domain: news.test\nfollow: []\n")
    crawl = world.crawl("-s", "NEWSBOT_CONTCT=me")
    assert crawl.code == 0, crawl.err
    assert crawl.err.count("NEWSBOT_CONTCT: there is no such setting (did you mean 'NEWSBOT_CONTACT'?)") == 1


# --- components that do not exist
@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("newsbot.scheduler.FrontierScheduler", "newsbot.scheduler"),
        ("newsbot.extensions.pause.Pauses", "newsbot.extensions.pause"),
        ("newsbot.apps.none.at.all.Extension", "newsbot.apps.none.at.all"),
    ],
)
def test_a_component_whose_module_does_not_exist_is_reported(path: str, module: str) -> None:
    for extensions in (path, {path: 100}, {"https": path}):
        with pytest.raises(ArgumentError, match=f"^EXTENSIONS: {path}: there is no module {module}$"):
            check_parts({"EXTENSIONS": extensions})


def test_present_components_are_accepted() -> None:
    settings = Settings()
    settings.setmodule("newsbot.settings")
    NewsSpider.update_settings(settings)
    check_parts(settings)
    assert {name for name in settings if "newsbot." in str(settings.attributes[name].value)} <= {
        *PARTS,
        *("SPIDER_MODULES", "NEWSPIDER_MODULE", "COMMANDS_MODULE"),
    }


def test_each_component_that_the_settings_name_can_be_loaded() -> None:
    settings = Settings()
    settings.setmodule("newsbot.settings")
    NewsSpider.update_settings(settings)
    paths = set(
        re.findall(
            r"newsbot\.[\w.]*\.[A-Z]\w*",
            str(
                [settings.get(name) for name in PARTS]
                + [settings.getdict(name) for name in PARTS if isinstance(settings.get(name), Mapping)]
            ),
        )
    )
    assert len(paths) > 20
    for path in paths:
        load_object(path)


def test_a_crawl_reports_a_wrong_path_before_it_starts(tmp_path: Path) -> None:
    world = World(tmp_path, None)
    world.rule("news.test")
    old = "newsbot.scheduler.FrontierScheduler"
    command = [sys.executable, "-m", "scrapy", "crawl", "news", "-s", f"SCHEDULER={old}"]
    done = warm.run(command, cwd=ROOT, env=world.environment())
    assert done.returncode == 2
    assert done.stderr == f"scrapy crawl: SCHEDULER: {old}: there is no module newsbot.scheduler\n"


# --- docs


def test_the_docs_are_printed_from_the_table() -> None:
    """To update: ``python -m tests.settings_page > docs/settings.md``."""
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == document()
