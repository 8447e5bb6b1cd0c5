"""Writes, tests and learns the rules of sites."""

from newsbot.config.apps import App

APP = App(
    name="authoring",
    package="newsbot.apps.authoring",
    needs=("operations", "progress"),
    settings=True,
    components={"EXTENSIONS": {"newsbot.apps.authoring.samples.Samples": 530}},
    commands={
        "init": (
            "Begin",
            "Make a project: a rules folder, settings, scrapy.cfg",
            "newsbot.apps.authoring.project:ACTIONS",
        ),
        "rules": (
            "Crawl",
            "Check, show, learn and create the rules of sites",
            "newsbot.apps.authoring.command:ACTIONS",
        ),
        "article": (
            "Read",
            "Extract the article of one page without storing it",
            "newsbot.apps.authoring.article:ACTIONS",
        ),
    },
)
