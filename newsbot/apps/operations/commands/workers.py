"""``scrapy workers``: runs several crawl workers on this machine."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive
from newsbot.cli.program import PROGRAM


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Run several crawl workers on this machine, and restart those that fail",
            "newsbot.apps.operations.workers:workers",
            Argument("count", type=positive, nargs="?", metavar="N", help="number (default: one per core)"),
            Argument(
                "-a",
                action="append",
                default=[],
                dest="spider_arguments",
                metavar="NAME=VALUE",
                help=f"an argument of {PROGRAM} crawl news (the default mode=continuous never ends)",
            ),
        ),
    )
