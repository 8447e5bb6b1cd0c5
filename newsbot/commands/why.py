"""``scrapy why URL``: where a URL was found, how it was judged, fetched, stored or dropped, when due."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Tell the whole story of one URL"
    actions = (
        Action(
            "",
            "Tell where a URL was found, how it was judged, fetched, stored or dropped, and when it is due",
            "newsbot.actions.why:why",
            (Argument("url", metavar="URL", help="absolute; no request is made"),),
        ),
    )
