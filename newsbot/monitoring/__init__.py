"""Reports on the availability and the structure of sites, from the checks of ``scrapy crawl monitor``.

Files in reading order:

* ``page_check``: how one page is checked, and what its responses mean
* ``changes``: what changed since the check of an earlier run
* ``report``: the report on one site, from all its pages
* ``structure``: sections, links between them, and folders with counts
* ``kept_reports``: stores the last report of each site, so that it can be shown immediately
* ``rendering``: writes reports as JSON and HTML
"""
