"""Data that workers learn about a site and share through notes, and statistics of sites.

A note is a small JSON value in the storage (:mod:`newsbot.storage.notes`).

Files in reading order:

* ``statistics``: stores counters, last article and last error of each site across crawls
* ``families``: the families of a site's addresses, with their reasons for people
* ``health``: decides whether the crawl still gets articles from a site
* ``silence``: decides whether a source has had no new links for an unusually long time
* ``runs``: the crawls of all workers: start, signs of life, end
* ``shared_lines``: lines that the articles of a site have in common
* ``rendering``: decides whether the pages of a site are rendered
* ``pushed_texts``: the texts of articles in signed messages of the site's hub
* ``rights``: the reservations of a site against use by AI; robots.txt and tdmrep.json, fetched once a day for
  all workers
* ``pauses_and_removals``: sites that a user has paused; removed URLs and domains, which must not be collected
  again
"""
