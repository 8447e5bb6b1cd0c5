"""Exports of articles as files and feeds."""

from newsbot.config.apps import App

APP = App(
    name="export",
    package="newsbot.apps.export",
    needs=("archive", "operations", "search"),
)
