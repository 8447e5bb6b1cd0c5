"""Categories of articles, which users name by examples and which are learned from the words of these.

Files in reading order:

* ``categories``: learns from texts whether an article is in a category; what names a category, and its
  examples; ``scrapy categories``
"""

from newsbot.config.apps import App

APP = App(
    name="topics",
    package="newsbot.apps.topics",
    needs=("operations", "search"),
    commands={
        "categories": (
            "Read",
            "Learn categories of articles from examples",
            "newsbot.apps.topics.categories:ACTIONS",
        )
    },
    labels={"category": "newsbot.apps.topics.categories:category_field"},
)
