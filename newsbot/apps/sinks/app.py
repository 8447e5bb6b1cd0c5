"""Sends all articles and their changes to other systems."""

from newsbot.config.apps import App

APP = App(
    name="sinks",
    package="newsbot.apps.sinks",
    needs=("followers", "search"),
    commands={
        "sinks": (
            "Look after",
            "Show, check, run and rewind the sinks that articles are sent to",
            "newsbot.apps.sinks.command:ACTIONS",
        ),
    },
    settings=True,
    checks=("newsbot.apps.sinks.follower:check",),
    followers=("newsbot.apps.sinks.follower:followers",),
)
