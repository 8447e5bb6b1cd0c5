"""The web of ``scrapy demo``: six invented news sites on loopback, and a check of the crawl's result.

Files in reading order:

* ``writer``: makes stories from the words in ``en.yaml`` and ``ru.yaml``
* ``publishing``: decides which site of ``sites.yaml`` publishes which story, when and under which URLs, and
  makes the manifest: the expected result of a crawl
* ``pages``: the response for each URL of a site, from templates
* ``server``: the HTTP server and forward proxy, which adds faults to some pages
* ``check``: the action of ``scrapy demo``: crawls, and compares the result with the manifest
"""
