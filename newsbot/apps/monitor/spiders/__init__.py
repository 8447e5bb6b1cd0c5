"""Spiders that check sites.

* ``monitor``: ``scrapy crawl monitor`` requests every known page
* ``search``: ``scrapy crawl search`` finds texts on pages
"""
