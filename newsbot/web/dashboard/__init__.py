"""The dashboard: what a crawl does and has stored, as pages for people, an API and metrics for programs.

Files in reading order:

* ``app``: which path leads to which handler
* ``service``: what all handlers share
* ``access``: who may see, and who may act
* ``overview``, ``sites``, ``articles``, ``reports``: the data that is shown
* ``cached_figures``: the expensive figures among them
* ``pages``: the HTML pages; ``rendering`` (templates), ``plots`` (inline SVG)
* ``endpoints``: the list of the API's operations
* ``api``: serves and describes them; ``parameters`` (of requests), ``schema`` (of answers)
* ``actions``: what people can do here
* ``feeds``, ``metrics``: searches as feeds, figures for Prometheus
* ``faults``: error responses
"""
