"""``scrapy sinks``: other systems that get all articles."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment

_NAMES = Argument("name", nargs="*", help="names of sinks (default: all)")
_NAME = Argument("name", help="name of a sink")


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "list",
            "List the sinks, how many changes they lack, and faults",
            "newsbot.apps.sinks.command:list_sinks",
        ),
        Action(
            "check",
            "Connect to the targets, and create missing tables",
            "newsbot.apps.sinks.command:check",
            _NAMES,
        ),
        Action("run", "Send all changes now", "newsbot.apps.sinks.command:run", _NAMES, writes=True),
        Action(
            "rewind",
            "Send the articles to a sink again",
            "newsbot.apps.sinks.command:go_back",
            _NAME,
            Argument("--to", metavar="DATE", type=moment, help="only articles that were fetched since DATE"),
            writes=True,
        ),
        Action("refused", "Show what a target has refused", "newsbot.apps.sinks.command:refused", _NAME),
    )
