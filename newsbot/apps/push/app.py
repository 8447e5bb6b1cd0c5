"""Notices of changed pages, and the sensor of site owners."""

from newsbot.config.apps import App

APP = App(
    name="push",
    package="newsbot.apps.push",
    commands={
        "sensor": (
            "More",
            "Read the access log of a site and report new and changed pages to newsbot",
            "newsbot.apps.push.sensor.accesslog:ACTIONS",
        ),
    },
)
