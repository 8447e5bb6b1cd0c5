"""Finds links: reads feeds, sitemaps and HTML pages, and discovers the sources of a site.

Files in reading order:

* ``feeds``: reads any feed: RSS, RDF, Atom, JSON Feed
* ``sitemaps``: reads sitemaps and their indexes
* ``xml_events``, ``dates``: read broken XML and dates; used for feeds and sitemaps
* ``reader``: the interfaces for other kinds of sources and for files that are not HTML
* ``autodiscovery``: finds feeds, sitemaps and sections in a home page, in robots.txt and at usual places, and
  the WebSub hubs of a feed
* ``list_pages``: links of HTML pages; recognises lists of pages, archives and endless calendars by their
  URLs; finds the next page of a list; decides how far lists are read, and which shapes of list URLs lead to
  articles
"""
