"""A WebSub hub for the feeds of ``scrapy serve``: other programs get new articles of a search at once.

* ``subscriptions``: verifies subscribers and sends contents; the route of the hub on the dashboard
"""

from newsbot.config.apps import App

APP = App(
    name="hub",
    package="newsbot.apps.hub",
    needs=("web", "push"),
    pages=("newsbot.apps.hub.subscriptions:add",),
)
