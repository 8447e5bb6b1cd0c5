"""Settings: declared once in a table, read and checked from there.

- ``kinds.py``: what a value can be (number, switch, path, …), how it is read, and what it must be in words
- ``table.py``: the table: name, kind, default, environment variable and meaning of each setting
- ``check.py``: the checks before a command begins: values, unknown names, parts that moved
- ``contact.py``: the user agent, which carries the contact of the person who runs the crawl
- ``__main__.py``: ``python -m newsbot.config`` prints docs/settings.md
"""
