"""Lets assistants search and read the stored articles, by the Model Context Protocol (docs/mcp.md).

* ``server``: what an assistant can ask, and the MCP server with these tools, on stdio or HTTP
"""

from newsbot.config.apps import App

APP = App(
    name="mcp",
    package="newsbot.apps.mcp",
    needs=("operations", "web"),
    commands={
        "mcp": (
            "Read",
            "Let assistants search and read the articles (MCP), on stdio or HTTP",
            "newsbot.apps.mcp.server:ACTIONS",
        )
    },
    settings=True,
)
