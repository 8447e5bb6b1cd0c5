"""Shows the pictures of articles on the dashboard, for the eyes of a newsroom (setting NEWSBOT_PICTURES).

The browser gets a picture from this server alone, so no site learns who reads what.

Files in reading order:

* ``pages``: the page ``/picture`` of the dashboard
* ``fetching``: fetches a picture from its site, if the site allows it
* ``cache``: the pictures on the disk
"""
