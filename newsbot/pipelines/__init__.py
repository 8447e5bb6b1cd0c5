"""Scrapy's pipelines, in the order in which an article passes them.

* ``validate``: whole articles only, of the dates that were asked for
* ``limits``: ``max_articles`` and ``max_articles_per_site``
* ``exact``: copies and unchanged pages are dropped; ``address`` chooses the URL that an article is kept under
* ``near``: near-duplicates become one story
* ``store``: the storage keeps the article
"""
