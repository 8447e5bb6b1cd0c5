"""``scrapy sources``: shows the state of each site and of its feeds, sitemaps and sections."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Show articles, useful share, polls, errors and health of each site and each source",
            "newsbot.apps.operations.sources:sources",
            Argument("domain", nargs="?", metavar="DOMAIN", help="only this site"),
            Argument("--failing", action="store_true", help="only failing sites and sources"),
            Argument("--limit", type=positive, default=1000, metavar="N", help="number of sites (1000)"),
            Argument("--after", default="", metavar="DOMAIN", help="sites that follow this one"),
        ),
    )
