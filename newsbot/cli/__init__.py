"""The command line: code that all commands share.

* ``command``: the base class of the commands, with their actions, arguments and exit codes
* ``program``: the program ``newsbot``: its name, its commands and its help
* ``terminal``: prints tables and lines for people, on a terminal or into a pipe
* ``log_lines``: formats log lines as text or JSON and masks secrets
"""
