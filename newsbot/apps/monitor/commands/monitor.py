"""``scrapy monitor``: shows what ``scrapy crawl monitor`` found."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive
from newsbot.cli.program import PROGRAM

_DOMAIN = Argument("domain", metavar="DOMAIN", help=f"the site, as `{PROGRAM} monitor list` names it")


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "list",
            "List the sites that were monitored, with the counts of the last run",
            "newsbot.apps.monitor.command:list_sites",
        ),
        Action(
            "show",
            "Show the report on a site: broken links and the pages with them, changes, redirects, structure",
            "newsbot.apps.monitor.command:show",
            _DOMAIN,
            Argument("--html", metavar="FILE", help="write the report as one HTML page"),
            Argument("--limit", type=positive, metavar="N", help="rows of each list (20)"),
        ),
        Action(
            "page",
            "Show the last checks of one page",
            "newsbot.apps.monitor.command:page",
            Argument("url", metavar="URL", help="any URL of the page"),
        ),
        Action(
            "forget",
            "Delete the results of a site",
            "newsbot.apps.monitor.command:forget",
            _DOMAIN,
            writes=True,
        ),
    )
