"""``newsbot team``: people with tokens for the dashboard and the API, and the log of what they did."""

from __future__ import annotations

from newsbot.apps.team.people import ROLES
from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of, positive

_NAME = Argument("name", metavar="NAME", help="a name or an e-mail address")


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action("", "List the people with their roles", "newsbot.apps.team.command:show"),
        Action(
            "add",
            "Add a person and print the token, which is not shown again; for a known person: a new token",
            "newsbot.apps.team.command:add",
            _NAME,
            Argument(
                "--role",
                type=one_of(*ROLES),
                default="read",
                metavar="ROLE",
                help="read (the default), act (also queue, poll, pause, save) or admin (also rules and jobs)",
            ),
            Argument(
                "--no-token",
                action="store_true",
                help="the person logs in through the single sign-on only; NAME is the e-mail address there",
            ),
        ),
        Action(
            "revoke",
            "Remove a person: the token and all sessions end within seconds",
            "newsbot.apps.team.command:revoke",
            _NAME,
        ),
        Action(
            "log",
            "Show what people did on this machine's dashboard, the latest last",
            "newsbot.apps.team.command:log",
            Argument("--limit", type=positive, default=50, metavar="N", help="number of lines (50)"),
            Argument("--person", metavar="NAME", help="only what this person did"),
        ),
    )
