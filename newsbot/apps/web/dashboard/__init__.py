"""The dashboard: the state and the articles of a crawl as HTML pages, an HTTP API and metrics.

Files in reading order:

* ``app``: the routes of the pages and of the API, and the description of the API's operations; feeds,
  comparisons of queries as files, and metrics for Prometheus
* ``service``: the object and functions that all handlers share, and the responses to errors
* ``access``: access control for reading and for changes
* ``overview``: the state of the whole crawl and of each site
* ``articles``: articles, stories and news, and what each person has read and starred
* ``proposals``: rules for new sites, made from a small crawl, and the jobs of scrapyd
* ``pages``: the HTML pages with their charts, and their templates and languages (``rendering``)
* ``endpoints``: the operations of the API, including the changes that users can make, with the parameters of
  requests and the types of responses
"""
