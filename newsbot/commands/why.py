"""``scrapy why URL``: how a URL was found, judged, fetched, stored or dropped, and when it is due."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Explain one URL"
    actions = (
        Action(
            "",
            "Explain how a URL was found, judged, fetched, stored or dropped, and when it is due",
            "newsbot.actions.why:why",
            (Argument("url", metavar="URL", help="absolute; no request is made"),),
        ),
    )
