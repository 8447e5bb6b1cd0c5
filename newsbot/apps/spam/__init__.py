"""Recognises pages that are made for search engines and not for readers.

* ``judging``: the signs of spam on a page
* ``middleware``: judges the pages of a crawl, and leaves out their articles
* ``command``: ``scrapy spam``
"""
