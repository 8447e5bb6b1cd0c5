"""The storage in MongoDB."""

from newsbot.config.apps import App

APP = App(
    name="mongodb",
    package="newsbot.apps.mongodb",
    storages=dict.fromkeys(("mongodb", "mongodb+srv"), "newsbot.apps.mongodb.storage:MongoStorage"),
)
