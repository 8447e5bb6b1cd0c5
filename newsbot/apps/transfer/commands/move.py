"""``scrapy move``: copies a crawl from the data file to servers, or back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, positive


def _sites(text: str) -> tuple[str, ...]:
    """Parse a list of domains, separated by commas (``type`` of an argument)."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _when(text: str) -> tuple[str, datetime]:
    """Parse a date. Return the text and the time. The text is the same when a move is continued later."""
    return text, moment(text)


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Copy a crawl from the data file to servers, or (--to-file) from servers to a file. Stop "
            "all crawls first. If the command was killed, run it again to continue. The source is kept.",
            "newsbot.apps.transfer.command:move",
            Argument("--to-redis", nargs="?", const="", metavar="URL", help="target (default: REDIS_URL)"),
            Argument("--to-mongo", nargs="?", const="", metavar="URI", help="target (default: MONGO_URI)"),
            Argument(
                "--to-file",
                type=Path,
                metavar="FOLDER",
                help="copy from REDIS_URL and MONGO_URI into this folder, for use as NEWSBOT_DATA",
            ),
            Argument("--sites", type=_sites, metavar="A,B", help="only these sites (with --to-file)"),
            Argument(
                "--since",
                type=_when,
                metavar="DATE",
                help="only articles published since DATE, with their pages: 2024-05, 7d, yesterday",
            ),
            Argument("--until", type=_when, metavar="DATE", help="only articles published before DATE"),
            Argument(
                "--max-articles",
                type=positive,
                metavar="N",
                help="maximum number of articles, chosen at random, with their pages",
            ),
        ),
    )
