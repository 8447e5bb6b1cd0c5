"""Parses and verifies notices of changed pages (WebSub, IndexNow, rssCloud, pings).

A *notifier* is a server that sends notices: a hub, a sensor, or the site itself. A notice only moves the next
fetch of a URL to now; its content is not used. This package does not use the network. The server that
receives notices is in :mod:`newsbot.web`. Files in reading order:

* ``websub``: the state of one WebSub subscription
* ``indexnow``: IndexNow notices and their key files; rssCloud and XML-RPC pings
* ``signatures``: signatures of notices, and a memory of recent notices against replays
* ``trust``: how much each notifier is trusted, and limits how many fetches notices may cause
"""
