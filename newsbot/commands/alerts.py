"""``scrapy alerts``: shows what is wrong now and which alerts were sent, and tests the outputs."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Show what is wrong now (silent sources, refusals, lag, disk), tell it, or test the telling"
    actions = (
        Action(
            "",
            "Show what is wrong now: what, since when, likely cause, what to do; nothing is sent",
            "newsbot.actions.alerts:alerts",
            (
                Argument("--test", action="store_true", help="send a test message to all outputs"),
                Argument("--send", action="store_true", help="do one round: tell what was not told yet"),
            ),
        ),
    )
