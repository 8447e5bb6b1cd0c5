"""The middlewares of newsbot, in the order in which a request passes them.

* ``reprocessing``: refuses pages before their interval has passed; sends conditional requests, or HEAD first
* ``addresses``: refuses private addresses
* ``robots``, ``tdmrep``: robots.txt and tdmrep.json of the site
* ``rendering``: runs the scripts of pages if a rule or NEWSBOT_RENDER says so
* ``politeness``: pauses hosts that answer 429 or 503 or do not answer
* ``compression``, ``redirects``: decompress responses, follow redirects within the visit
* ``archive``: writes responses to the WARC archive
* ``links``: collects the links that a spider yields
"""
