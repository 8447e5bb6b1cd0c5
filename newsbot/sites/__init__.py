"""What workers learn of a site and share through notes, and statistics of sites.

Files in reading order:

* ``counters``: counters, last article and last error of each site
* ``statistics``: totals, rates and a row for each site, from the stats of a crawl
* ``health``: whether a site still gives articles
* ``canonical_trust``: whether its canonical URLs can be trusted
* ``shared_lines``: lines that its articles have in common
* ``host_files``: robots.txt and tdmrep.json, fetched once a day for all workers
* ``rendering``: whether the scripts of its pages add text
* ``rights``: its reservations on AI
* ``pauses``: sites that a person has paused
* ``removals``: removed URLs and domains, which must not be collected again
"""
