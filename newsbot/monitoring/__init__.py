"""Reports on availability and structure of sites, as plain data, from checks of ``scrapy crawl monitor``.

Files in reading order:

* ``page_check``: how one page is checked, and what its answers mean
* ``changes``: what changed since the check before
* ``report``: the report on one site, from all its pages
* ``structure``: sections, the links between them, folders with counts
* ``kept_reports``: the last result of each site, so that it can be shown immediately
* ``rendering``: reports as JSON and HTML
"""
