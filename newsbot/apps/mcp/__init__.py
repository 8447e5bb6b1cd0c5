"""Lets assistants search and read the stored articles, by the Model Context Protocol (docs/mcp.md).

Files in reading order:

* ``tools``: what an assistant can ask, as functions over the stored data
* ``server``: the MCP server with these tools, on stdio or HTTP
"""
