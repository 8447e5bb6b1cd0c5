"""The tasks of a first evening and of a morning, on a phone in Russian and on a screen in English.

``python -m benchmarks.walks`` does all of them in both languages on both screens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from newsbot.apps.team.people import add
from newsbot.backends import open_storage
from testbed import walks
from testbed.newsroom import furnish, settings_in
from tests.browser import chromium
from tests.dashboards import TOKEN, served

WAYS = [("ru", "phone"), ("en", "desktop")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_the_tasks_of_a_first_evening_have_no_dead_end(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    with (
        served(settings_in(tmp_path), token=TOKEN, once="a secret for once") as home,
        walks.walking(browser, home, *WAYS[0]) as walk,
    ):
        walks.first_evening(walk, f"{home}/login?once=a+secret+for+once")
        walks.bring_subscriptions(walk, tmp_path)


@pytest.mark.parametrize("half", [0, 1])
def test_the_tasks_of_a_morning_have_no_dead_end(
    morning: str, browser: Browser, half: int, tmp_path: Path
) -> None:
    with_files = (walks.compare_attention, walks.take_along)
    tasks: list[Callable[[walks.Walk], None]] = [
        *walks.MORNING,
        *(partial(task, folder=tmp_path) for task in with_files),
    ]
    with walks.walking(browser, morning, *WAYS[half]) as walk:
        walk.log_in(TOKEN)
        for task in tasks[half::2]:
            task(walk)
        assert len(walk.seen) > 3


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = furnish(tmp_path_factory.mktemp("morning"), daily=12)
    with served(settings, token=TOKEN) as home:
        yield home


def test_a_person_with_a_role_gets_what_the_role_allows(browser: Browser, tmp_path: Path) -> None:
    settings = furnish(tmp_path, days=1, daily=1)
    with closing(open_storage(settings)) as storage:
        member = add(storage.notes, "mira", "read", time.time())
    with served(settings, token=TOKEN) as home, walks.walking(browser, home, *WAYS[0]) as walk:
        walk.log_in(TOKEN)
        walks.be_in_a_team(walk, member)
