"""Moves a crawl between the data file and servers."""

from newsbot.config.apps import App

APP = App(
    name="transfer",
    package="newsbot.apps.transfer",
    commands={
        "move": (
            "Look after",
            "Copy a crawl from the data file to Redis and MongoDB, or back",
            "newsbot.apps.transfer.command:ACTIONS",
        ),
    },
)
