"""All settings, commands and arguments are documented."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import newsbot.commands
from newsbot.apps.export.formats import FORMATS
from newsbot.apps.monitor.spiders import MONITOR_HELP, SEARCH_HELP
from newsbot.cli.command import NewsbotCommand
from newsbot.crawl.scope import HELP
from newsbot.items import Article

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
NAMES = sorted(module.name for module in pkgutil.iter_modules(newsbot.commands.__path__))


def section(name: str) -> str:
    found = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/commands.md lacks a section '## {name}'"
    return found[1]


def described(text: str) -> list[str]:
    """Return the names that list items explain: url and urls for "- `url`, `urls`: addresses"."""
    items = re.findall(r"^- (`\w+`(?:, `\w+`)*)(?: \([^)]*\))?:", text, re.MULTILINE)
    return [name for item in items for name in re.findall(r"`(\w+)`", item)]


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_section_with_its_subcommands_and_options(name: str) -> None:
    text = section(name)
    command = import_module(f"newsbot.commands.{name}").Command()
    if not isinstance(command, NewsbotCommand):
        return
    for action in command.actions:
        assert f"`{action.name}" in text or not action.name
        for argument in action.arguments:
            flag = argument.flags[-1]
            if flag.startswith("-"):
                assert re.search(rf"{flag}\b|{argument.flags[0]}\b", text), f"{name}: {flag}"


def test_removed_commands_have_no_section() -> None:
    documented = re.findall(r"^## (\w+)$", COMMANDS, re.MULTILINE)
    assert sorted(documented) == sorted({*NAMES, "crawl"})


@pytest.mark.parametrize("name", sorted({*HELP, *SEARCH_HELP, *MONITOR_HELP}))
def test_each_argument_of_the_spider_is_documented(name: str) -> None:
    assert name in described(section("crawl"))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_export_format_is_documented(name: str) -> None:
    assert name in described(section("articles"))


def used_settings() -> list[str]:
    paths = (*(ROOT / "newsbot").rglob("*.py"), ROOT / "newsbot/config/settings.yaml")
    sources = (path.read_text(encoding="utf-8") for path in paths)
    return sorted(
        {name for source in sources for name in re.findall(r"NEWSBOT_[A-Z][A-Z0-9_]*[A-Z0-9]", source)}
    )


@pytest.mark.parametrize("name", used_settings())
def test_each_setting_is_documented(name: str) -> None:
    assert f"- `{name}`" in SETTINGS


def test_removed_settings_are_not_documented() -> None:
    assert set(re.findall(r"NEWSBOT_[A-Z0-9_]+", SETTINGS)) <= set(used_settings())


def test_each_field_of_an_article_is_documented() -> None:
    text = (ROOT / "docs/fields.md").read_text(encoding="utf-8")
    assert described(text.partition("\n## ")[0]) == [one.name for one in fields(Article)]


def test_the_index_names_each_page() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_file_and_the_heading_of_each_link_exist(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), f"{target}#{anchor}"
