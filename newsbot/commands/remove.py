"""``scrapy remove``: deletes a URL or a domain with all its data, and keeps it out."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Delete a URL or a domain, and keep it from being collected again"
    actions = (
        Action(
            "",
            "Show the data of a URL or a domain; with --yes delete them and keep them out",
            "newsbot.actions.remove:take_out",
            (
                Argument(
                    "what", nargs="*", metavar="URL|DOMAIN", help="an address, or a domain with subdomains"
                ),
                Argument("--yes", action="store_true", help="delete; without it nothing is changed"),
                Argument("--reason", metavar="TEXT", default="", help="stored with it, e.g. a reference"),
                Argument("--list", action="store_true", help="list the blocked URLs and domains"),
                Argument("--allow", action="store_true", help="let it be collected again"),
            ),
        ),
    )
