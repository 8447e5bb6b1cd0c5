"""Reports on the availability and the structure of sites, from the checks of ``scrapy crawl monitor``.

Files in reading order:

* ``results``: the stored checks and results of searches, and their interfaces
* ``results_sqlite``, ``results_mongodb``: these interfaces for each backend
* ``page_check``: how one page is checked, what its responses mean, and what changed since an earlier run
* ``markup``: finds faults in the markup of a page
* ``report``: the report on one site, from all its pages, with sections, links between them, and folders
* ``kept_reports``: stores the last report of each site, so that it can be shown immediately
* ``rendering``: writes reports as JSON and HTML
* ``command``, ``searches``: ``scrapy monitor`` and ``scrapy searches``
* ``removal``: deletes checks, reports and results of removed pages
* ``side_spiders``: the base of spiders that run beside a news crawl, and their scheduler
* ``spiders``: the spiders ``monitor`` and ``search``
"""
