"""Scrapy's extensions.

* ``logs``: the shape of log lines
* ``progress``, ``summary``, ``statsfile``: what a crawl does, while it runs and at its end
* ``pauses``, ``rulesreload``: take over paused sites and changed rules while a crawl runs
* ``alerts``: tells people what is wrong
* ``samples``: keeps a few pages for making rules
"""
