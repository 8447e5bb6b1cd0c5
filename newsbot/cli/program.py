"""The program ``newsbot``: its name, the list of its commands, and its help. Scrapy is not imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from newsbot import __version__


def _name(started: str) -> str:
    """Return the name of the program. ``started`` is the path of the script or of the package's module."""
    path = Path(started)
    return "newsbot" if "newsbot" in (path.stem, path.parent.name) else "scrapy"


PROGRAM = _name(sys.argv[0])
"""``newsbot`` or ``scrapy``: the name under which the user started the program.

Messages that name a command begin it with this name. ``python -m NAME`` starts the same program.
"""

GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Begin": {
            "init": "Make a project: a rules folder, settings, scrapy.cfg",
            "demo": "Crawl demo sites on this machine and check the result",
        },
        "Crawl": {
            "crawl": "Crawl the sites of the rules, or the named sites",
            "workers": "Run several crawl workers on this machine, and restart those that fail",
            "add": "Queue URLs that are fetched next, even while a crawl is running",
            "rules": "Check, show, learn and create the rules of sites",
        },
        "Read": {
            "search": "Find articles",
            "articles": "Find, read, export and import articles",
            "article": "Extract the article of one page without storing it",
            "searches": "List, show and delete the results of the spider search",
            "serve": "Serve the dashboard and the HTTP API, and receive notices of changed pages",
        },
        "Look after": {
            "why": "Explain what happened to one URL, and why",
            "sources": "Show the state of sites and their feeds, sitemaps and sections",
            "alerts": ("Show current problems (silent sources, refusals, lag, disk), send or test alerts"),
            "monitor": "Show what the spider monitor found: broken links, changes, structure",
            "remove": "Delete all data of a URL or a domain, and block it",
            "prune": "Delete data that are older than the settings allow",
            "move": "Copy a crawl from the data file to Redis and MongoDB, or back",
        },
        "More": {
            "simulate": (
                "Simulate polling, HEAD requests and sensors: freshness and traffic, without a site"
            ),
            "sensor": "Read the access log of a site and report new and changed pages to newsbot",
            "completion": "Print a script that completes commands and options in a shell",
        },
    }
)
"""Group -> name of a command -> what it does, in one line."""

SUMMARIES: Mapping[str, str] = MappingProxyType(
    {name: text for group in GROUPS.values() for name, text in group.items()}
)
OF_SCRAPY = ("fetch", "genspider", "list", "parse", "runspider", "settings", "shell", "version", "view")
"""Commands of Scrapy that work in a project. ``scrapy -h`` explains them."""


def help_text() -> str:
    """Return the help of the program ``newsbot``."""
    return "\n".join(_help())


def _help() -> Iterator[str]:
    yield f"newsbot {__version__}, a news crawler\n"
    yield "usage: newsbot COMMAND …      (newsbot COMMAND -h: its options; newsbot --version)"
    width = max(map(len, SUMMARIES)) + 2
    for group, commands in GROUPS.items():
        yield f"\n{group}:"
        yield from (f"  {name:<{width}}{text}" for name, text in commands.items())
    yield f"\nCommands of Scrapy: {', '.join(OF_SCRAPY)}"
    yield "\nFirst crawl: newsbot crawl example.org -a max_articles=20; then: newsbot search WORD"
