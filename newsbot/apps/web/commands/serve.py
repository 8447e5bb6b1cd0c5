"""``scrapy serve``: serves the dashboard and its API, and receives notices of changed pages."""

from __future__ import annotations

import argparse

from newsbot.cli.command import Action, Argument, NewsbotCommand

HOST, PORT = "127.0.0.1", 8765


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535; 0: any free port)")
    return int(text)


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Serve the dashboard and its API beside running crawls, and receive notices of changed pages",
            "newsbot.apps.web.service:run",
            Argument("--host", default=HOST, metavar="ADDRESS", help=f"address to listen on ({HOST})"),
            Argument("--port", type=_port, default=PORT, metavar="PORT", help=f"port ({PORT}; 0: any free)"),
            Argument(
                "--public-url",
                metavar="URL",
                help="URL at which hubs reach this server (default: NEWSBOT_PUBLIC_URL)",
            ),
        ),
    )
