"""Categories that are learned from examples."""

from newsbot.config.apps import App

APP = App(
    name="topics",
    package="newsbot.apps.topics",
    needs=("operations", "search"),
    commands={
        "categories": (
            "Read",
            "Learn categories of articles from examples",
            "newsbot.apps.topics.command:ACTIONS",
        )
    },
    labels={"category": "newsbot.apps.topics.categories:category_field"},
)
