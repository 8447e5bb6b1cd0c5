"""The spiders of newsbot.

* ``news``: ``scrapy crawl news``, which also joins articles of several pages; ``reading`` reads one response,
  ``sitemap_index`` chooses files of sitemap indexes, ``feed_content`` reads articles in feeds, ``one_page``
  reads a page without a crawl
"""
