"""``scrapy serve``: serves the dashboard and its API, and receives notices of changes."""

from __future__ import annotations

import argparse

from newsbot.cli.command import Action, Argument, NewsbotCommand

HOST, PORT = "127.0.0.1", 8765


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535; 0: any free one)")
    return int(text)


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Dashboard, HTTP API, and the receiver of notices of changes"
    actions = (
        Action(
            "",
            "Serve the dashboard and its API beside running crawls, and receive notices of changes",
            "newsbot.actions.serve:run",
            (
                Argument("--host", default=HOST, metavar="ADDRESS", help=f"where to listen; else {HOST}"),
                Argument("--port", type=_port, default=PORT, metavar="PORT", help=f"else {PORT}; 0: any"),
                Argument(
                    "--public-url",
                    metavar="URL",
                    help="the public address, for hubs (a proxy forwards it); else NEWSBOT_PUBLIC_URL",
                ),
            ),
        ),
    )
