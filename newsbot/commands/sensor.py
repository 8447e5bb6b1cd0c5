"""``scrapy sensor``: reports changes that a site's access log shows to a newsbot."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Tell a newsbot of changes that a site's access log shows"
    actions = (
        Action(
            "",
            "Follow an access log of nginx or Apache, and tell newsbot which pages are new or changed",
            "newsbot.actions.sensor:run",
            (
                Argument("log", type=Path, metavar="FILE", help="common or combined format"),
                Argument(
                    "--site", required=True, metavar="URL", help="what its paths belong to: https://my.site"
                ),
                Argument("--url", metavar="URL", help="where to send: https://newsbot.example/push/notice"),
                Argument("--once", action="store_true", help="read what is there, and end"),
                Argument("--dry-run", action="store_true", help="print the addresses, send nothing"),
            ),
        ),
    )
