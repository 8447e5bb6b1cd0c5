"""``scrapy why URL``: shows how a URL was found, judged, fetched, stored or dropped, and when it is due."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Explain how a URL was found, judged, fetched, stored or dropped, and when it is due",
            "newsbot.apps.operations.explain:why",
            Argument("url", metavar="URL", help="absolute URL; no request is sent"),
        ),
    )
