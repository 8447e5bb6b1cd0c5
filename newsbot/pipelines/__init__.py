"""Scrapy's pipelines, in the order in which an article passes them.

* ``validate``: drops incomplete articles, and articles that are not within the dates of the arguments
* ``limits``: applies ``max_articles`` and ``max_articles_per_site``
* ``exact``: drops copies and unchanged pages; chooses the URL under which an article is stored
* ``near``: joins near-duplicates into one story
* ``store``: stores the article
"""
