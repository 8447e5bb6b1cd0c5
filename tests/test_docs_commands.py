"""All commands in README and docs/ are valid."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from newsbot.cli.command import NewsbotCommand, choose, make_parser
from newsbot.cli.program import all_commands
from newsbot.settings import SPIDER_MODULES
from tests.commandline import ROOT, Place, article

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = rf"(?:scrapy|newsbot) (?:{'|'.join(all_commands())})"
OF_ALL_COMMANDS = {"--json", "--nolog", "-h"}
OF_ALL_WITH_A_VALUE = {"-s", "-L", "--logfile"}
OF_A_CRAWL = {"-a", "-s", "-L", "-o", "-O", "--logfile"}


def shown(page: Path) -> list[str]:
    """Return the complete command lines of a page: indented or fenced lines, and cells of README's table."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(rf"^(?:    )?(?:\S+=\S+ )*({COMMAND}\b.*)$", text, re.MULTILINE)
    cells = re.findall(r"^\| [^|]+ \|(.+)\|$", text, re.MULTILINE) if page.name == "README.md" else []
    return lines + [command for cell in cells for command in re.findall(rf"`({COMMAND}\b[^`]*)`", cell)]


ALL = sorted({command for page in PAGES for command in shown(page)})


def split(command: str) -> list[str]:
    """Split a command like a shell, without comments, pipes or following commands."""
    words = shlex.split(command, comments=True)
    ends = [place for place, word in enumerate(words) if word in {"|", ">", "&&", "&", "\\"}]
    return words[1 : min(ends, default=len(words))]


def test_commands_are_found_in_the_pages() -> None:
    assert len(ALL) > 50
    assert any("articles search" in command for command in ALL)


@pytest.mark.parametrize("command", [line for line in ALL if line.split()[1] != "crawl"])
def test_each_documented_command_is_valid(command: str) -> None:
    name, *words = split(command)
    known: NewsbotCommand = import_module(f"newsbot.commands.{name}").Command()
    action, rest = choose(known.actions, without_common(words))
    make_parser(name, action).parse(rest)


@pytest.mark.parametrize("command", [line for line in ALL if line.split()[1] == "crawl"])
def test_each_documented_crawl_command_is_valid(command: str) -> None:
    _crawl, *words = split(command)
    while words and "." in words[0]:  # a site
        del words[0]
    spider = "news" if not words or words[0].startswith("-") else words.pop(0)
    for option, value in zip(words[::2], words[1::2], strict=True):
        assert option in OF_A_CRAWL
        if option == "-a":
            name = value.partition("=")[0]
            text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
            assert re.search(rf"^- (?:`\w+`, )*`{name}`(?:, `\w+`)*:", text, re.MULTILINE)
    spiders = [ROOT / module.replace(".", "/") for module in SPIDER_MODULES]
    files = [path for one in spiders for path in (*one.glob("*.py"), one.with_suffix(".py")) if path.exists()]
    assert any(f'name = "{spider}"' in path.read_text(encoding="utf-8") for path in files)


READING = [
    command
    for command in shown(PAGES[0])
    if re.match(r"\w+ (search|articles|sources|why|rules|searches list)\b", command)
]


@pytest.mark.parametrize("command", READING)
def test_read_commands_of_readme_work(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.articles.store(article(1, text="Идёт строительство моста через реку. " * 9))
    name, *words = split(command.replace(" URL", " https://example.org/news/1"))
    answer = place.run(name, *words)
    assert answer.code == 0, answer.err
    assert answer.out or answer.err


def without_common(words: list[str]) -> list[str]:
    """Return the arguments of the action only."""
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and word not in OF_ALL_COMMANDS | OF_ALL_WITH_A_VALUE:
            kept.append(word)
        skip = word in OF_ALL_WITH_A_VALUE
    return kept
