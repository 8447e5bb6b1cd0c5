"""Reports on availability and structure of sites, as plain data, from what ``scrapy crawl monitor`` kept.

Files in reading order:

* ``asking``: how one page is checked, and what its answers mean
* ``report``: the report on one site, from all its pages
* ``structure``: sections, the links between them, folders with counts
* ``keeping``: the last result of each site, so that it can be shown immediately
* ``rendering``: reports as JSON and HTML
"""
