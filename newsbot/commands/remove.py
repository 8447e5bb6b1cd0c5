"""``scrapy remove``: deletes all data of a URL or a domain, and blocks it."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    summary = "Delete all data of a URL or a domain, and block it"
    actions = (
        Action(
            "",
            "Show how many data a URL or a domain has; with --yes delete them and block it",
            "newsbot.operations.remove:take_out",
            Argument("what", nargs="*", metavar="URL|DOMAIN", help="a URL, or a domain with its subdomains"),
            Argument("--yes", action="store_true", help="delete; without it nothing is changed"),
            Argument("--reason", metavar="TEXT", default="", help="stored with it, e.g. a reference"),
            Argument("--list", action="store_true", help="list the blocked URLs and domains"),
            Argument("--allow", action="store_true", help="unblock: it may be collected again"),
        ),
    )
