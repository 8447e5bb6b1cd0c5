"""Lets assistants search and read the stored articles, by the Model Context Protocol (docs/mcp.md).

* ``server``: what an assistant can ask, and the MCP server with these tools, on stdio or HTTP
"""
