"""Finds links: reads feeds, sitemaps and HTML pages, and discovers the sources of a site.

Files in reading order:

* ``feeds``: reads any feed: RSS, RDF, Atom, JSON Feed
* ``sitemaps``: reads sitemaps and their indexes
* ``xml_events``, ``gzipped``, ``dates``: broken XML, gzip files and dates, for feeds and sitemaps
* ``sections``: links of HTML pages
* ``autodiscovery``: feeds, sitemaps and sections in a home page and robots.txt, and their usual places
* ``list_pages``: URLs of page lists, archives and endless calendars; which page of a list is next; how far
  lists are read, and which shapes of list URLs lead to articles
"""
