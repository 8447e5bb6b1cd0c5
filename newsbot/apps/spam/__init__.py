"""Recognises pages that are made for search engines and not for readers.

* ``middleware``: the signs of spam on a page; judges the pages of a crawl, and leaves out their articles;
  ``scrapy spam``
"""

from newsbot.config.apps import App, Owner

APP = App(
    name="spam",
    package="newsbot.apps.spam",
    needs=("operations",),
    settings=True,
    commands={
        "spam": (
            "Look after",
            "List pages that are made for search engines and not for readers",
            "newsbot.apps.spam.middleware:ACTIONS",
        )
    },
    components={"SPIDER_MIDDLEWARES": {"newsbot.apps.spam.middleware.SpamMiddleware": 450}},
    signs=("newsbot.apps.spam.middleware:signs",),
    notes={"spam:": Owner.SITE_IN_KIND, "spam_sites": Owner.SITE},
)
