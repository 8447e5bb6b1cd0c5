"""From links that a page gave to URLs in the frontier.

Files in reading order:

* ``judge``: which links are followed, and how soon
* ``list_probing``: lists that nobody vouches for are tried one at a time
* ``queue``: records, frontier, counters
* ``canonical``: other addresses of a page
* ``usual_places``: feeds and sitemaps where they are on many sites
"""
