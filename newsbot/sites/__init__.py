"""Data that workers learn about a site and share through notes, and statistics of sites.

A note is a small JSON value in the storage (:mod:`newsbot.storage.notes`).

Files in reading order:

* ``statistics``: counters, last article and last error of each site; the crawls of all workers
* ``health``: decides whether the crawl still gets articles from a site, and new links from a source
* ``texts``: lines that the articles of a site have in common; texts in signed messages of the site's hub
* ``rights``: the reservations of a site against use by AI; robots.txt and tdmrep.json, fetched once a day for
  all workers
* ``pauses_and_removals``: sites that a user has paused; removed URLs and domains, which must not be collected
  again
"""
