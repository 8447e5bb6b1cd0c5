"""Notices of changes (WebSub, IndexNow, rssCloud, pings): they only move a URL's next fetch to now.

Here is what a notice means and whether it may be believed, without any network; :mod:`newsbot.web` serves it.
Files in reading order:

* ``websub``: one WebSub subscription
* ``indexnow``: IndexNow notices and their key files
* ``signatures``: signatures of notices, and what was seen lately
* ``trust``: how far each notifier is believed
* ``budget``: how many fetches notices may cause
"""
