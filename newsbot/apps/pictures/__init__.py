"""Shows the pictures of articles on the dashboard, for the eyes of a newsroom (setting NEWSBOT_PICTURES).

The browser gets a picture from this server alone, so no site learns who reads what.

* ``cache``: the pictures on the disk, their requests to sites, and the page ``/picture`` of the dashboard
"""

from newsbot.config.apps import App

APP = App(
    name="pictures",
    package="newsbot.apps.pictures",
    needs=("web",),
    settings=True,
    pages=("newsbot.apps.pictures.cache:add",),
    pruning={"pictures": "newsbot.apps.pictures.cache:prune"},
)
