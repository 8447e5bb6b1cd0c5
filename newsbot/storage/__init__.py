"""Storage: what is known of pages, articles, stories, sources and sites, for good.

:class:`newsbot.storage.base.Storage` is the whole: one repository for each kind of thing. A backend is opened
with :func:`newsbot.backends.open_storage`. In reading order:

* ``base``: the whole, and the guarantees that hold for every repository
* ``pages``: every URL ever seen (the crawl database), its history and its referrers
* ``articles``: the articles with their versions; texts and full-text search
* ``article_decision``: what happens to an article that comes
* ``stories``: articles that tell the same thing
* ``sources``: feeds, sitemaps and sections with their polls; counters of sites, in total and by the hour
* ``notes``: small JSON documents that a part of newsbot keeps for itself
* ``shared_notes``: notes that several workers add to
* ``spider_results``: what the spiders ``monitor`` (checks) and ``search`` (searches) found on pages
* ``upkeep``: taking out what people ask for and what is old; reading everything out and taking it in for
  ``scrapy move``
* ``sqlite``: all of it in the embedded data file
* ``mongo``: all of it in MongoDB

Each of the two packages has ``connection`` (transactions, faults), ``schema`` (tables or collections and why
each index is there), ``rows`` or ``documents`` (an article as it is written), and one file for each of the
modules above (``removal`` and ``copying`` for ``upkeep``). ``mongo`` also has ``changes``: their numbers,
which triggers give in the data file.
"""
