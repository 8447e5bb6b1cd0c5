"""``scrapy remove``: deletes a URL or a domain with all that was kept of it, and keeps it out."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Take out a URL or a domain for good, and keep it out"
    actions = (
        Action(
            "",
            "Show what there is of a URL or a domain; with --yes delete all of it and keep it out",
            "newsbot.actions.remove:take_out",
            (
                Argument(
                    "what", nargs="*", metavar="URL|DOMAIN", help="an address, or a domain with all below it"
                ),
                Argument("--yes", action="store_true", help="delete; without it nothing is changed"),
                Argument("--reason", metavar="TEXT", default="", help="kept with the note, e.g. a reference"),
                Argument("--list", action="store_true", help="what is kept out"),
                Argument("--allow", action="store_true", help="let it be collected again"),
            ),
        ),
    )
