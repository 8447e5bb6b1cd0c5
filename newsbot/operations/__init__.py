"""Operations of people on data: queue, remove, prune, export, import, move, explain.

* ``add``: queues URLs
* ``remove``: deletes a URL or a domain
* ``prune``: deletes old data
* ``explain``: collects what is known of one URL; ``explain_text`` writes it as text and JSON
* ``source_report``: the state of each site and its sources
* ``exporting``: articles as files
* ``importing``: articles from WARC files
* ``move``: a crawl from the data file to servers, and back
* ``supervisor``: runs workers as child processes, and restarts those that fail
"""
