"""``scrapy sensor``: reads the access log of a site and reports changed pages to a newsbot server."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Follow an access log of nginx or Apache, and report new and changed pages to newsbot",
            "newsbot.apps.push.sensor.command:run",
            Argument("log", type=Path, metavar="FILE", help="common or combined format"),
            Argument("--site", required=True, metavar="URL", help="the site of the log: https://my.site"),
            Argument("--url", metavar="URL", help="where to send: https://newsbot.example/push/notice"),
            Argument("--once", action="store_true", help="read the log once, then end"),
            Argument("--dry-run", action="store_true", help="only print the URLs, without sending them"),
        ),
    )
