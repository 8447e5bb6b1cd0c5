"""The program ``newsbot``: its name, the list of its commands, and its help. Scrapy is not imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from newsbot import __version__
from newsbot.config.apps import known_apps


def _name(started: str) -> str:
    """Return the name of the program. ``started`` is the path of the script or of the package's module."""
    path = Path(started)
    return "newsbot" if "newsbot" in (path.stem, path.parent.name) else "scrapy"


PROGRAM = _name(sys.argv[0])
"""``newsbot`` or ``scrapy``: the name under which the user started the program.

Messages that name a command begin it with this name. ``python -m NAME`` starts the same program.
"""

GROUPS = ("Begin", "Crawl", "Read", "Look after", "More")
"""Groups of commands in the help, in their order."""
COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"crawl": ("Crawl", "Crawl the sites of the rules, or the named sites")}
)
"""The commands of the core: name -> group, and what the command does, in one line."""
OF_SCRAPY = ("fetch", "genspider", "list", "parse", "runspider", "settings", "shell", "version", "view")
"""Commands of Scrapy that work in a project. ``scrapy -h`` explains them."""


def all_commands() -> dict[str, tuple[str, str]]:
    """Return the commands of the core and of all apps, with their groups and summaries.

    Raises :class:`newsbot.errors.ArgumentError` if an app cannot be loaded.
    """
    found = dict(COMMANDS)
    for app in known_apps().values():
        found |= {name: (group, line) for name, (group, line, _) in app.commands.items()}
    return found


def help_text() -> str:
    """Return the help of the program ``newsbot``."""
    return "\n".join(_help())


def _help() -> Iterator[str]:
    yield f"newsbot {__version__}, a news crawler\n"
    yield "usage: newsbot COMMAND …      (newsbot COMMAND -h: its options; newsbot --version)"
    commands = all_commands()
    width = max(map(len, commands)) + 2
    for group in dict.fromkeys([*GROUPS, *(group for group, _ in commands.values())]):
        yield f"\n{group}:"
        yield from (f"  {name:<{width}}{text}" for name, (own, text) in commands.items() if own == group)
    yield f"\nCommands of Scrapy: {', '.join(OF_SCRAPY)}"
    yield "\nFirst crawl: newsbot crawl example.org -a max_articles=20; then: newsbot search WORD"
