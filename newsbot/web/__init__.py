"""The server of ``scrapy serve``, on aiohttp (a dependency of Scrapy): the dashboard and the push receiver.

Files in reading order:

* ``service``: the process: opens the data, serves, does its regular work
* ``push_receiver``: receives notices
* ``push_intake``: queues what trusted notices name
* ``subscriptions``, ``subscriber``: subscribes to hubs
* ``incoming``, ``outgoing``: limits of incoming requests, and requests that notices cause
* ``dashboard``: pages, API and metrics
* ``readers``: threads that read the data for the dashboard
* ``cache``: a cache of expensive figures
* ``alerting``: rounds of alerts
"""
