"""Settings that change nothing because of their name are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scrapy.settings import Settings

from newsbot.config import names as settingnames
from newsbot.config.names import strange
from tests.commandline import Place
from tests.crawls import World

SETTINGS = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
NO_SUCH = "there is no such setting"
GONE = "this setting no longer exists; set Scrapy's own handler instead: DOWNLOAD_HANDLERS = "


def test_the_environment_is_read_as_the_documentation_says() -> None:
    marked = set(re.findall(r"^\| `(NEWSBOT_\w+)` \(\*env\*\)", SETTINGS, re.MULTILINE))
    assert marked == settingnames.FROM_ENVIRONMENT
    assert set(re.findall(r"^\| `(NEWSBOT_\w+)`", SETTINGS, re.MULTILINE)) == settingnames.known()


@pytest.mark.parametrize(
    ("given", "environment", "told"),
    [
        ({}, {}, []),
        ({"NEWSBOT_ALERT_LAG": 5, "LOG_LEVEL": "INFO"}, {"NEWSBOT_CONTACT": "me", "PATH": "x"}, []),
        ({"NEWSBOT_CONTCT": "me"}, {}, [f"NEWSBOT_CONTCT: {NO_SUCH} (did you mean NEWSBOT_CONTACT?)"]),
        ({"NEWSBOT_ZZZ": "me"}, {}, [f"NEWSBOT_ZZZ: {NO_SUCH}; see"]),
        ({"NEWSBOT_HTTP2": True}, {}, [f"NEWSBOT_HTTP2: {GONE}"]),
        ({}, {"NEWSBOT_HTTP2": "1"}, [f"NEWSBOT_HTTP2 (environment): {GONE}"]),
        ({}, {"NEWSBOT_DATE": "x"}, [f"NEWSBOT_DATE (environment): {NO_SUCH} (did you mean NEWSBOT_DATA?)"]),
        ({}, {"NEWSBOT_ALERT_LAG": "5"}, ["NEWSBOT_ALERT_LAG (environment): is not read from there"]),
        ({}, {"NEWSBOT_ALERT_LAG": "", "NEWSBOT_TEST_MONGO_URI": "x"}, []),
    ],
)
def test_names(given: dict[str, object], environment: dict[str, str], told: list[str]) -> None:
    lines = list(strange(Settings(given), environment))
    assert len(lines) == len(told)
    assert all(line.startswith(start) for line, start in zip(lines, told, strict=True))


def test_a_command_tells_and_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.storage():
        pass
    answer = place.run("articles", "search", "x", "-s", "NEWSBOT_CONTCT=me", "--json")
    assert (answer.code, answer.json) == (0, [])
    assert "NEWSBOT_CONTCT: there is no such setting (did you mean NEWSBOT_CONTACT?)" in answer.err


def test_a_crawl_tells_and_goes_on(world: World) -> None:
    world.rule("news.test", "domain: news.test\nfollow: []\n")
    crawl = world.crawl("-s", "NEWSBOT_CONTCT=me")
    assert crawl.code == 0, crawl.err
    assert crawl.err.count("NEWSBOT_CONTCT: there is no such setting (did you mean NEWSBOT_CONTACT?)") == 1
