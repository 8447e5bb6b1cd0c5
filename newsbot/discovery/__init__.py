"""Finds links: reads feeds, sitemaps and HTML pages, and finds out where a site keeps them.

Files in reading order:

* ``feeds``: reads any feed; ``feedparts`` (what a feed gives), ``xmlfeed`` (RSS, RDF, Atom), ``jsonfeed``
* ``sitemaps``: reads sitemaps and their indexes; ``sitemapparts`` (what a sitemap gives)
* ``xmlread``, ``encoding``, ``dates``: XML that may be broken, charsets, and dates as both kinds write them
* ``sections``: links of HTML pages
* ``pages``: absolute URLs, and HTML as trees
* ``autodiscovery``: feeds, sitemaps and sections that a home page and robots.txt name, and the usual places
* ``traps``: URLs that lead into endless spaces
* ``list_probing``: which shapes of list URLs lead to articles
"""
