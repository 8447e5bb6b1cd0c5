"""Commands start fast: modules that a command does not need are not imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import newsbot.commands
from newsbot.apps.authoring.new import ARTICLES, SECONDS
from newsbot.apps.demo.server import DEFAULT_ARTICLES
from newsbot.apps.export.formats import FORMATS, TYPES
from newsbot.apps.monitor.report import SHOWN_ROWS
from newsbot.cli.command import Action, NewsbotCommand, make_parser
from newsbot.config.apps import load
from testbed.demoweb.plan import MIN_ARTICLES

ROOT = Path(__file__).resolve().parent.parent
EXPENSIVE = {
    *("numpy", "scipy", "datasketch", "aiohttp", "tldextract", "requests", "redis", "pymongo"),
    *("rich.console", "pyarrow", "matplotlib", "sqlite3"),
}
LOADED = """
import json, sys
from scrapy.cmdline import execute
try:
    execute(["scrapy", *sys.argv[1:]])
finally:
    print(json.dumps(sorted(sys.modules)))
"""
COMMANDS: dict[str, NewsbotCommand] = {
    one.name: import_module(f"newsbot.commands.{one.name}").Command()
    for one in iter_modules(newsbot.commands.__path__)
    if one.name != "crawl"
}
ACTIONS = {(name, action.name): action for name, command in COMMANDS.items() for action in command.actions}


def loaded(tmp_path: Path, *words: str) -> set[str]:
    """Return the names of the modules that are loaded when a command ends."""
    environment = {**os.environ, "NEWSBOT_DATA": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("rules", "show", "https://lenta.ru/news/2024/05/03/x/"),
        ("rules", "show"),
    ],
)
def test_no_expensive_module_is_imported(tmp_path: Path, words: tuple[str, ...]) -> None:
    modules = loaded(tmp_path, *words)
    assert not modules & EXPENSIVE
    assert "newsbot.commands.articles" in modules  # Scrapy imports the modules of all commands


def test_the_list_of_commands_imports_only_declarations(tmp_path: Path) -> None:
    ours = {name for name in loaded(tmp_path, "--help") if name.startswith("newsbot.")}
    parts = {name.split(".")[1] for name in ours}
    assert parts == {"settings", "apps", "config", "commands", "cli", "clock", "errors", "urls"}
    assert not {
        name for name in ours if name.count(".") > 2 and ".apps." in name and not name.endswith(".app")
    }


@pytest.mark.parametrize("action", ACTIONS.values(), ids=map(" ".join, ACTIONS))
def test_the_function_of_each_action_exists(action: Action) -> None:
    function: Any = load(action.run) if isinstance(action.run, str) else action.run
    assert function.__code__.co_varnames[: function.__code__.co_argcount] == ("call",)


def test_declarations_match_the_functions() -> None:
    def default_of(command: str, action: str, *words: str) -> object:
        options = make_parser(command, ACTIONS[command, action]).parse(words[1:])
        return getattr(options, words[0])

    for name in FORMATS:
        assert default_of("articles", "export", "format", "--format", name) == name
        assert name in make_parser("articles", ACTIONS["articles", "export"]).format_help()
    for name in TYPES:
        assert default_of("articles", "feed", "format", "--format", name) == name
    assert default_of("rules", "new", "articles", "example.org") == ARTICLES
    assert default_of("rules", "new", "seconds", "example.org") == SECONDS
    assert (
        f"(default {DEFAULT_ARTICLES}, from {MIN_ARTICLES})"
        in make_parser("demo", ACTIONS["demo", ""]).format_help()
    )
    assert f"({SHOWN_ROWS})" in make_parser("monitor", ACTIONS["monitor", "show"]).format_help()
