"""Categories of articles, which users name by examples and which are learned from the words of these.

Files in reading order:

* ``classifier``: learns from texts whether an article is in a category, with a probability
* ``categories``: what names a category, its examples among the stored articles, and what was learned
* ``command``: ``scrapy categories``
"""
