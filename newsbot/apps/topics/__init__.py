"""Categories of articles, which users name by examples and which are learned from the words of these.

Files in reading order:

* ``categories``: learns from texts whether an article is in a category; what names a category, and its
  examples
* ``command``: ``scrapy categories``
"""
