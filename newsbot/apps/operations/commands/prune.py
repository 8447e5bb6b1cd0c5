"""``scrapy prune``: deletes data that are older than options or settings allow."""

from __future__ import annotations

import argparse

from newsbot.cli.command import Action, Argument, NewsbotCommand
from newsbot.clock import parse_duration
from newsbot.config.settings import AGE


def age(text: str) -> float:
    """Parse the maximum age of data; return seconds (``type`` of an argument)."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < AGE.least:
        raise argparse.ArgumentTypeError(f"{text!r} is less than an hour, the minimum")
    return seconds


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Count the old data; with --yes delete them",
            "newsbot.apps.operations.prune:prune",
            Argument("--yes", action="store_true", help="delete the data (default: only count them)"),
            Argument("--raw", metavar="AGE", type=age, help="maximum age of WARC files, e.g. 90d"),
            Argument("--versions", metavar="AGE", type=age, help="maximum age of earlier article versions"),
            Argument("--pages", metavar="AGE", type=age, help="maximum age of page history and referrers"),
            writes=True,
        ),
    )
