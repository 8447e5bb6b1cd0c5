"""The dashboard: the state and the articles of a crawl as HTML pages, an HTTP API and metrics.

Files in reading order:

* ``app``: the routes
* ``service``: what all handlers share
* ``access``: who may read and who may change something
* ``news``, ``overview``, ``sites``, ``articles``, ``reports``: the data that is shown
* ``proposals``: rules for new sites, made from a small crawl; ``jobs``: those of scrapyd
* ``cached_figures``: the expensive figures among them
* ``pages``: the HTML pages; ``rendering`` (templates), ``plots`` (inline SVG)
* ``endpoints``: the list of the API's operations
* ``api``: serves and describes the operations; ``parameters`` (of requests), ``schema`` (of answers)
* ``actions``: changes that people can make
* ``attention``: queries compared day by day, as a page and as files
* ``feeds``, ``metrics``: searches as feeds, figures for Prometheus
* ``faults``: error responses
"""
