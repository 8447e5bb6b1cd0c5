"""What workers learn about a site and share through notes, and statistics of sites.

A note is a small JSON value in the storage (:mod:`newsbot.storage.notes`).

Files in reading order:

* ``statistics``: totals, rates and a row for each site, from the stats of a crawl; counters, last article and
  last error of each site, across crawls
* ``health``: whether a site still gives articles
* ``canonical_trust``: whether the canonical URLs of a site can be trusted
* ``shared_lines``: lines that the articles of a site have in common
* ``rendering``: whether the scripts of a site's pages add text
* ``rights``: the reservations of a site on AI; robots.txt and tdmrep.json, fetched once a day for all workers
* ``pauses_and_removals``: sites that a person has paused; removed URLs and domains, which must not be
  collected again
"""
