"""Documents that are articles."""

from newsbot.config.apps import App

APP = App(
    name="documents",
    package="newsbot.apps.documents",
    documents=("newsbot.apps.documents.reader:READER",),
)
