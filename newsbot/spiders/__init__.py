"""The spiders of newsbot.

* ``news``: ``scrapy crawl news``; ``reading`` reads one response, ``sitemap_index`` chooses files of sitemap
  indexes, ``paging`` joins articles of several pages
* ``search``, ``search_arguments``: ``scrapy crawl search`` finds texts on pages
* ``monitor``, ``monitor_arguments``: ``scrapy crawl monitor`` requests every known page
"""
