"""Settings that are numbers: nonsense is one line, before anything begins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from newsbot.config.numbers import BOUNDS, check_numbers
from newsbot.errors import ArgumentError
from tests import warm
from tests.crawls import ROOT, World


@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize("value", ["abc", "nan", "-1", "1e400", [1]])
def test_nonsense_is_refused(name: str, value: object) -> None:
    if value == "1e400" and BOUNDS[name][1] == float("inf"):
        pytest.skip("it has no upper bound")
    with pytest.raises(ArgumentError, match=f"^{name}=.* must be a number") as told:
        check_numbers({name: value})
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_bounds_themselves_are_allowed(name: str) -> None:
    for value in BOUNDS[name]:
        check_numbers({name: str(value)})
    check_numbers({name: ""})
    check_numbers({})


@pytest.mark.parametrize("word", ["crawl", "serve"])
def test_a_command_says_so_in_one_line(tmp_path: Path, word: str) -> None:
    world = World(tmp_path, None)
    world.rule("news.test")
    words = {"crawl": ["crawl", "news"], "serve": ["serve", "--port", "0"]}[word]
    command = [sys.executable, "-m", "scrapy", *words, "-s", "NEWSBOT_LEASE_SECONDS=0"]
    done = warm.run(command, cwd=ROOT, env=world.environment())
    assert done.returncode == 2
    assert done.stderr == f"scrapy {word}: NEWSBOT_LEASE_SECONDS=0: must be a number, 1 to 86400\n"
