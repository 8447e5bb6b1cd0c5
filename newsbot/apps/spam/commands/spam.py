"""``scrapy spam``: lists pages with a sign of spam."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "List the pages of sites on which a crawl or a check of the site found a sign of spam",
            "newsbot.apps.spam.command:listing",
            Argument("site", nargs="?", help="only pages of this site (a domain)"),
        ),
    )
