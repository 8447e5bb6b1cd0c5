"""Recognises pages that are made for search engines and not for readers.

* ``middleware``: the signs of spam on a page; judges the pages of a crawl, and leaves out their articles;
  ``scrapy spam``
"""
