"""The dashboard: the state and the articles of a crawl as HTML pages, an HTTP API and metrics.

Files in reading order:

* ``app``: the routes
* ``service``: the object and functions that all handlers share
* ``access``: access control for reading and for changes
* ``news``, ``overview``, ``sites``, ``articles``, ``reports``: the data that pages and API show
* ``proposals``: rules for new sites, made from a small crawl; ``jobs``: the jobs of scrapyd
* ``cached_figures``: figures that take long to compute, with their caches
* ``pages``: the HTML pages; ``rendering`` (templates), ``plots`` (inline SVG)
* ``endpoints``: the list of the API's operations
* ``api``: serves and describes the operations; ``parameters`` (of requests), ``schema`` (of responses)
* ``actions``: changes that users can make
* ``attention``: a comparison of queries by day, as a page and as files
* ``feeds``, ``metrics``: searches as feeds; metrics for Prometheus
* ``faults``: error responses
"""
