"""The dashboard: the state and the articles of a crawl as HTML pages, an HTTP API and metrics.

Files in reading order:

* ``app``: the routes
* ``service``: the object and functions that all handlers share, and the responses to errors
* ``access``: access control for reading and for changes
* ``overview``, ``sites``, ``articles``: the data that the pages and the API show
* ``proposals``: rules for new sites, made from a small crawl
* ``marks``: keeps and writes what each person has read and starred
* ``jobs``: the jobs of scrapyd
* ``pages``: the HTML pages, with their templates (``rendering``) and charts in inline SVG (``plots``)
* ``endpoints``: the operations of the API, including the changes that users can make
* ``api``: the routes and the description of the operations
* ``schema``: parameters of requests and types of responses
* ``exports``: feeds, comparisons of queries as files, and metrics for Prometheus
"""
