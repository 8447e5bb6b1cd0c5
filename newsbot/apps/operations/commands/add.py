"""``scrapy add``: queues URLs that are fetched next, even while a crawl is running."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of
from newsbot.cli.program import PROGRAM


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Queue URLs that are fetched next, including known URLs, even while a crawl is running",
            "newsbot.apps.operations.add:add",
            Argument("url", nargs="*", metavar="URL", help="absolute URLs"),
            Argument(
                "--kind",
                type=one_of("feed", "sitemap", "section", "article"),
                metavar="KIND",
                help="feed, sitemap, section or article; default: the kind in the rule, or else article",
            ),
            Argument(
                "--due",
                action="append",
                default=[],
                metavar="SITE",
                help="make all known feeds, sitemaps and sections of a site due now",
            ),
            Argument(
                "--family",
                nargs=2,
                metavar=("SITE", "FAMILY"),
                help=f"queue the links of a family that wait (list: {PROGRAM} rules learn SITE --why)",
            ),
            Argument(
                "--file", type=Path, metavar="FILE", help="one URL per line; # for comments; - is stdin"
            ),
            writes=True,
        ),
    )
