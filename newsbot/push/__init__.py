"""Being told of changes: WebSub, IndexNow, rssCloud, pings. All of them only move a URL's next fetch to now.

Here is what a notice means and whether it may be believed, without any network; :mod:`newsbot.web` serves it.
"""
