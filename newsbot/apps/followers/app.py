"""Gives the changes of articles to the followers of apps."""

from newsbot.config.apps import App

APP = App(
    name="followers",
    package="newsbot.apps.followers",
    components={"EXTENSIONS": {"newsbot.apps.followers.extension.Followers": 550}},
)
