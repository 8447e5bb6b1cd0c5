"""``scrapy alerts``: shows current problems and the alerts that were sent, and tests the outputs."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Show current problems with start, likely cause and remedy, without sending alerts",
            "newsbot.apps.alerts.command:alerts",
            Argument("--test", action="store_true", help="send a test message to all outputs"),
            Argument("--send", action="store_true", help="send the alerts that have not been sent yet"),
        ),
    )
