"""Scrapy's middlewares, in the order in which a request passes them.

* ``reprocessing``: no page before its interval has passed; conditional requests, and ``heads`` for HEAD
* ``addresses``: no private addresses
* ``robots``, ``tdmrep``: robots.txt and tdmrep.json of the site
* ``politeness``: hosts that say "slow down" rest
* ``compression``, ``redirects``: answers are unpacked, redirects are followed within the visit
* ``archive``: keeps the answers as they came
* ``links``: takes the links that a spider yields
"""
