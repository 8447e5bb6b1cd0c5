"""``scrapy sensor``: reads the access log of a site and reports changed pages to a newsbot server."""

from __future__ import annotations

import time
from pathlib import Path

from newsbot.apps.push.sensor.accesslog import LogReader, lines
from newsbot.apps.push.sensor.notices import Notifier
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError

MOSTLY = 20
"""Number of lines that are checked at the start. The file is refused if none of them has a known format."""


def run(call: Call) -> None:
    """Follow the log until Ctrl-C, or read it once (``--once``). With ``--dry-run`` URLs are only printed."""
    options = call.options
    notifier = None if options.dry_run else _notifier(call)
    reader = LogReader(since=0.0 if options.once else time.time())
    reported = number = 0
    try:
        for number, (line, old) in enumerate(lines(options.log, follow=not options.once), start=1):
            # Lines that were written before the start are not reported. The reader only learns from them
            # which pages are known.
            path = reader.news(line, learning=old and not options.once)
            if reader.bad_lines == number == MOSTLY:
                raise ArgumentError(f"{options.log}: contains no access log lines of nginx or Apache")
            if path is None:
                continue
            reported += 1
            if notifier is None:
                call.text(options.site.rstrip("/") + path)
            else:
                notifier.changed(notifier.site + path)
    finally:
        if notifier is not None:
            notifier.close()
    outcome = "found" if notifier is None else "sent"
    call.note(f"{counted(number, 'line')} read, {counted(reported, 'change')} {outcome}")


def _notifier(call: Call) -> Notifier:
    url = call.options.url
    if not url:
        raise ArgumentError("give --url, the address for notices, e.g. https://newsbot.example/push/notice")
    secret = str(call.settings.get("NEWSBOT_SENSOR_SECRET") or "")
    try:
        return Notifier(url, secret, call.options.site)
    except ValueError as error:
        raise ArgumentError(str(error)) from error


ACTIONS = (
    Action(
        "",
        "Follow an access log of nginx or Apache, and report new and changed pages to newsbot",
        run,
        Argument("log", type=Path, metavar="FILE", help="common or combined format"),
        Argument("--site", required=True, metavar="URL", help="the site of the log: https://my.site"),
        Argument("--url", metavar="URL", help="where to send: https://newsbot.example/push/notice"),
        Argument("--once", action="store_true", help="read the log once, then end"),
        Argument("--dry-run", action="store_true", help="only print the URLs, without sending them"),
    ),
)
