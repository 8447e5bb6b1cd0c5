"""What ``scrapy serve`` serves, on aiohttp (which Scrapy brings along): the dashboard and the push receiver.

Files in reading order:

* ``service``: the process: opens the data, serves, does its regular work
* ``push_receiver``: receives notices
* ``push_intake``: acts on notices that are believed
* ``subscriptions``, ``subscriber``: subscribes to hubs
* ``incoming``, ``outgoing``: reads requests, and makes those that notices cause
* ``dashboard``: pages, API and metrics
* ``readers``: threads that read the data for the dashboard
* ``cache``: a cache of expensive figures
* ``alerting``: rounds of alerts
"""
