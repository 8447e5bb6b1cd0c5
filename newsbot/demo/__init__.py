"""The bundled web of ``scrapy demo``: six invented news sites on loopback, and the check of a crawl of them.

Files in reading order:

* ``writer``: stories from the words in ``en.yaml`` and ``ru.yaml``
* ``publishing``: which story is on which site of ``sites.yaml``, when and under which addresses
* ``pages``: every address of a site and its response, from the templates
* ``server``: the HTTP server and forward proxy, with the faults of single pages
* ``manifest``: the expected result of a crawl
* ``check``: the stored articles and the requests of a crawl, compared with the manifest
"""
