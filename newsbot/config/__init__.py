"""Declares all settings in one table, and reads and checks values with it.

* ``table``: the kinds of values (number, switch, path, …), and the settings of ``settings.yaml``: name, kind,
  default, environment variable and meaning of each
* ``check``: the checks before a command begins: values, unknown names, modules that have moved
* ``apps``: finds the apps and what they add
* ``contact``: the user agent with the contact of the person who runs the crawl
* ``__main__``: ``python -m newsbot.config`` prints docs/settings.md
"""
