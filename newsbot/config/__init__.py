"""Settings: declared once in a table, read and checked from there.

* ``kinds``: what a value can be (number, switch, path, …), how it is read, and what it must be in words
* ``table``: the table: name, kind, default, environment variable and meaning of each setting
* ``check``: the checks before a command begins: values, unknown names, parts that moved
* ``contact``: the user agent, which carries the contact of the person who runs the crawl
* ``__main__``: ``python -m newsbot.config`` prints docs/settings.md
"""
