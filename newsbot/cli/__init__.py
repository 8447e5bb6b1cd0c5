"""The command line: the code that all commands share.

* ``command``: the base class of the commands, their actions and arguments, exit codes
* ``terminal``: tables and lines for people, on a terminal or in a pipe
* ``log_lines``: log lines as text or JSON, without secrets
* ``log_formatter``: Scrapy's log lines about items
"""
