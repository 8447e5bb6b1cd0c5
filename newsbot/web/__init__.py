"""The server of ``scrapy serve``, on aiohttp (a dependency of Scrapy): the dashboard and the push receiver.

Files in reading order:

* ``service``: the process: opens the data, serves, runs regular tasks
* ``push_receiver``: the handlers that receive notices
* ``push_intake``: queues the pages that trusted notices name
* ``subscriptions``, ``subscriber``: subscriptions to hubs, and the requests to hubs
* ``incoming``, ``outgoing``: limits of incoming requests, and the client for requests that notices cause
* ``dashboard``: pages, API and metrics
* ``readers``: threads that read the data for the dashboard
* ``cache``: a cache of expensive figures
* ``alerting``: regular checks for alerts
"""
