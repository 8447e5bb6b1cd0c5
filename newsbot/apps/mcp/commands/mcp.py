"""``scrapy mcp``: assistants search and read the articles."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Serve the Model Context Protocol on stdio; with --http at http://HOST:PORT/mcp",
            "newsbot.apps.mcp.server:run",
            Argument("--http", action="store_true", help="serve HTTP, with the token NEWSBOT_WEB_TOKEN"),
            Argument("--host", default="127.0.0.1", help="with --http (127.0.0.1)"),
            Argument("--port", type=positive, default=8090, help="with --http (8090)"),
        ),
    )
