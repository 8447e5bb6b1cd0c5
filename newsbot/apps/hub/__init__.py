"""A WebSub hub for the feeds of ``scrapy serve``: other programs get new articles of a search at once.

* ``subscriptions``: verifies subscribers and sends contents, with functions for network and storage
* ``pages``: the route of the hub on the dashboard, and its regular task
"""
