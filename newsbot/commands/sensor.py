"""``scrapy sensor``: reports changes that a site's access log shows to a newsbot."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Report changes in a site's access log to a newsbot"
    actions = (
        Action(
            "",
            "Follow an access log of nginx or Apache, and report new and changed pages to newsbot",
            "newsbot.actions.sensor:run",
            (
                Argument("log", type=Path, metavar="FILE", help="common or combined format"),
                Argument(
                    "--site", required=True, metavar="URL", help="the site of its paths: https://my.site"
                ),
                Argument("--url", metavar="URL", help="where to send: https://newsbot.example/push/notice"),
                Argument("--once", action="store_true", help="read the log once, and end"),
                Argument("--dry-run", action="store_true", help="print the addresses, send nothing"),
            ),
        ),
    )
