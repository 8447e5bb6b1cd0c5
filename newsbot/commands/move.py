"""``scrapy move``: copy a crawl from the data file to servers, or home from there."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, positive


def _sites(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _when(text: str) -> tuple[str, datetime]:
    """Read a date, and keep how it was written."""
    return text, moment(text)


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Copy a crawl from the data file to Redis and MongoDB, or home from there"
    actions = (
        Action(
            "",
            "Copy a crawl from the data file to servers, or (--to-file) from servers to a file. Killed at "
            "any moment, the same command goes on. Nothing may crawl meanwhile; the source stays as it is.",
            "newsbot.actions.move:move",
            (
                Argument("--to-redis", nargs="?", const="", metavar="URL", help="default: REDIS_URL"),
                Argument("--to-mongo", nargs="?", const="", metavar="URI", help="default: MONGO_URI"),
                Argument(
                    "--to-file",
                    type=Path,
                    metavar="FOLDER",
                    help="from REDIS_URL and MONGO_URI into this folder, to be used as NEWSBOT_DATA",
                ),
                Argument("--sites", type=_sites, metavar="A,B", help="only these sites (with --to-file)"),
                Argument(
                    "--since",
                    type=_when,
                    metavar="DATE",
                    help="only articles published at or after, with their pages: 2024-05-31, or 7d (ago)",
                ),
                Argument("--until", type=_when, metavar="DATE", help="only articles published before"),
                Argument(
                    "--max-articles",
                    type=positive,
                    metavar="N",
                    help="only so many articles, taken at random, with their pages",
                ),
            ),
        ),
    )
