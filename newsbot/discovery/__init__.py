"""Finds links: reads feeds, sitemaps and HTML pages, and discovers the sources of a site.

Files in reading order:

* ``feeds``: reads any feed; ``feed_types`` (the data of a feed), ``feed_xml`` (RSS, RDF, Atom),
  ``jsonfeed``
* ``sitemaps``: reads sitemaps and their indexes; ``sitemap_types`` (the data of a sitemap)
* ``xml_events``, ``encoding``, ``dates``: broken XML, charsets and dates, for feeds and sitemaps
* ``sections``: links of HTML pages
* ``pages``: absolute URLs, and the base of relative links
* ``autodiscovery``: feeds, sitemaps and sections in a home page and robots.txt, and their usual places
* ``traps``: URLs of endless calendars, page lists and the like
* ``list_pages``: the pages of a list, and which page is next
* ``list_probing``: how far lists are read, and which shapes of list URLs lead to articles
"""
