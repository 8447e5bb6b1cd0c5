"""``scrapy remove``: deletes all data of a URL or a domain, and blocks it."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Count the data of a URL or a domain; with --yes delete the data and block the URL or domain",
            "newsbot.apps.operations.remove:take_out",
            Argument("what", nargs="*", metavar="URL|DOMAIN", help="a URL, or a domain with its subdomains"),
            Argument("--yes", action="store_true", help="delete the data (default: only count them)"),
            Argument("--reason", metavar="TEXT", default="", help="stored with the block, e.g. a reference"),
            Argument("--list", action="store_true", help="list the blocked URLs and domains"),
            Argument("--allow", action="store_true", help="unblock it, so that it can be collected again"),
            writes=True,
        ),
    )
