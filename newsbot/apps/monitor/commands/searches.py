"""``scrapy searches``: shows what ``scrapy crawl search`` found."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive
from newsbot.cli.program import PROGRAM


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "list",
            "List all searches with results, the latest first",
            "newsbot.apps.monitor.searches:list_searches",
        ),
        Action(
            "show",
            "Show where a search found its texts: page, line, position, context",
            "newsbot.apps.monitor.searches:show",
            Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
            Argument("--text", metavar="TEXT", help="only results for this text or expression"),
            Argument("--site", metavar="DOMAIN", help="only results on this site"),
            Argument(
                "--limit",
                type=positive,
                default=1000,
                metavar="N",
                help="maximum number of results",
            ),
        ),
        Action(
            "forget",
            "Delete the results of a search",
            "newsbot.apps.monitor.searches:forget",
            Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
            writes=True,
        ),
    )
