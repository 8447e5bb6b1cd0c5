"""Declares all settings in one table, and reads and checks values with it.

* ``settings``: the settings of ``settings.yaml``, with the kinds of their values (number, switch, path, …);
  the checks before a command begins; the user agent with the contact of the person who runs the crawl
* ``apps``: finds the apps and what they add
"""
