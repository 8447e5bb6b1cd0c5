"""Notices of changes (WebSub, IndexNow, rssCloud, pings). A notice only moves the next fetch of a URL to now.

This package parses and verifies notices and does not use the network. :mod:`newsbot.web` has the server.
Files in reading order:

* ``websub``: one WebSub subscription
* ``indexnow``: IndexNow notices and their key files
* ``signatures``: signatures of notices, and a memory against replays
* ``trust``: how far each notifier is trusted
* ``budget``: how many fetches notices may cause
"""
