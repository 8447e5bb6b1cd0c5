"""The simulator of polling strategies."""

from newsbot.config.apps import App

APP = App(
    name="simulator",
    package="newsbot.apps.simulator",
    commands={
        "simulate": (
            "More",
            "Simulate polling, HEAD requests and sensors: freshness and traffic, without a site",
            "newsbot.apps.simulator.arguments:ACTIONS",
        ),
    },
)
