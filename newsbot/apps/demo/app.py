"""Generated news sites on this machine."""

from newsbot.config.apps import App

APP = App(
    name="demo",
    package="newsbot.apps.demo",
    commands={
        "demo": (
            "Begin",
            "Crawl demo sites on this machine and check the result",
            "newsbot.apps.demo.check:ACTIONS",
        ),
    },
)
