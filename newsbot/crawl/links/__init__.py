"""Judges the links of a page and queues them in the frontier.

Files in reading order:

* ``judge``: which links are followed, and how soon
* ``families``: decides which links are fetched by the families of their addresses, and keeps all other links;
  decides how far a list is read
* ``queue``: writes records, frontier entries and counters; limits the waiting pages of a site, and the new
  hosts that a site names; adds a feed's data to articles that were found before the feed
* ``canonical``: handles other addresses of a page; tries other spellings of an address if one of them fails
* ``usual_places``: tries the usual addresses of feeds and sitemaps
"""
