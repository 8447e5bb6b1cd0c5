"""The command line: what all commands share.

* ``command``: the base of the commands, their actions and arguments, exit codes
* ``terminal``: tables and lines as people see them, on a terminal or in a pipe
* ``log_lines``: log lines as text or JSON, without secrets
* ``log_formatter``: what Scrapy logs of items
"""
