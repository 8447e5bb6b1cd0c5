"""``scrapy prune``: deletes what is older than the settings keep."""

from __future__ import annotations

import argparse

from newsbot.cli.command import Action, Argument, NewsbotCommand
from newsbot.clock import parse_duration
from newsbot.config.table import AGE


def age(text: str) -> float:
    """Read how long something is kept, in seconds (an argument's ``type``)."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < AGE.least:
        raise argparse.ArgumentTypeError(f"{text!r} is less than an hour")
    return seconds


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Let go of what is older than the settings keep"
    actions = (
        Action(
            "",
            "Show what is older than it is to be kept; with --yes let go of it",
            "newsbot.actions.prune:prune",
            (
                Argument("--yes", action="store_true", help="delete; without it nothing is changed"),
                Argument("--raw", metavar="AGE", type=age, help="WARC files, e.g. 90d"),
                Argument("--versions", metavar="AGE", type=age, help="earlier versions of articles"),
                Argument("--pages", metavar="AGE", type=age, help="history and referrers of pages"),
            ),
        ),
    )
