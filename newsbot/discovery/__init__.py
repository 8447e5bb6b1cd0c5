"""Finds links: reads feeds, sitemaps and HTML pages, and finds out where a site keeps them.

Files in reading order:

* ``feeds``: reads any feed; ``feed_types`` (what a feed gives), ``feed_xml`` (RSS, RDF, Atom),
  ``jsonfeed``
* ``sitemaps``: reads sitemaps and their indexes; ``sitemap_types`` (what a sitemap gives)
* ``xml_events``, ``encoding``, ``dates``: XML that may be broken, charsets, and dates of both kinds
* ``sections``: links of HTML pages
* ``pages``: absolute URLs, and HTML as trees
* ``autodiscovery``: feeds, sitemaps and sections that a home page and robots.txt name, and the usual places
* ``traps``: URLs that lead into endless spaces
* ``list_probing``: which shapes of list URLs lead to articles
"""
