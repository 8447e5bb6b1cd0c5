"""The command line: what all commands share.

- ``command.py``: the base of the commands, their actions and arguments, exit codes
- ``terminal.py``: tables and lines as people see them, on a terminal or in a pipe
- ``log_lines.py``: log lines as text or JSON, without secrets
- ``log_formatter.py``: what Scrapy logs of items
"""
