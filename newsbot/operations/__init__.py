"""What people do with the data of a crawl: queue, remove, prune, export, import, move and explain it.

The commands and the dashboard call these functions.

* ``add``: queues URLs
* ``remove``: deletes a URL or a domain
* ``prune``: deletes old data
* ``explain``: collects what is known about one URL; ``explain_text`` formats it as text and JSON
* ``source_report``: reports the state of each site and its sources
* ``exporting``: writes articles to files
* ``importing``: reads articles from WARC files
* ``move``: copies a crawl from the data file to servers, or back
* ``supervisor``: runs workers as child processes, and restarts those that fail
"""
