"""The MCP server for assistants."""

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
