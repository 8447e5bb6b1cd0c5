"""Writes rules for people: learned from URLs, made from a live site, imported from other projects.

Files in reading order:

* ``writing``: writes rule files, never over what a person wrote
* ``learn``: ``scrapy rules learn``
* ``selector_proposals``: selectors proposed from some pages of a site
* ``new``: ``scrapy rules new``
* ``cases``: saved pages with the fields expected of them, for ``scrapy rules test``
* ``importing``: ``scrapy rules import``
"""
