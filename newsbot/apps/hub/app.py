"""A WebSub hub for the feeds of the dashboard."""

from newsbot.config.apps import App

APP = App(
    name="hub",
    package="newsbot.apps.hub",
    needs=("web", "push"),
    pages=("newsbot.apps.hub.subscriptions:add",),
)
