"""Parses and verifies notices of changed pages (WebSub, IndexNow, rssCloud, pings).

A *notifier* is a server that sends notices: a hub, a sensor, or the site itself. The only effect of a notice
is that a URL is fetched now. The content of the notice is not used, except full texts in signed messages of
hubs. This package does not use the network.
The server that receives notices is in :mod:`newsbot.apps.web`. Files in reading order:

* ``protocols``: the state of one WebSub subscription, IndexNow notices and their key files, rssCloud
  verifications, and XML-RPC pings; signatures of notices, and a memory of recent notices that prevents
  replays
* ``sensor``: the program that site owners install
"""

from newsbot.config.apps import App

APP = App(
    name="push",
    package="newsbot.apps.push",
    commands={
        "sensor": (
            "More",
            "Read the access log of a site and report new and changed pages to newsbot",
            "newsbot.apps.push.sensor.accesslog:ACTIONS",
        ),
    },
)
