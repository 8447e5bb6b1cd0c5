"""Scrapy's spiders.

* ``news``: ``scrapy crawl news``; ``reading`` reads one answer, ``sitemap_index`` chooses files of sitemap
  indexes, ``paging`` joins articles of several pages
* ``search``, ``search_arguments``: ``scrapy crawl search`` finds texts on pages
* ``monitor``, ``monitor_arguments``: ``scrapy crawl monitor`` asks for every known page
"""
