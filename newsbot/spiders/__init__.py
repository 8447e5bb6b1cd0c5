"""The spiders of newsbot.

* ``news``: ``scrapy crawl news``, which also joins articles of several pages, and reads a page without a
  crawl
* ``reading``: reads one response
* ``sources``: chooses files of sitemap indexes, reads articles in feeds
"""
