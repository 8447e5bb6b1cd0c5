"""Judges links: is this an article, and how soon should it be fetched.

Files in reading order:

* ``judging``: the judgement of a link
* ``url_learning``: what is learned of a site's addresses during a crawl
* ``headlines``: headlines that a site has listed lately under another address
"""
