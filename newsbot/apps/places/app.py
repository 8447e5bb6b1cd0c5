"""Places that articles name."""

from newsbot.config.apps import App

APP = App(
    name="places",
    package="newsbot.apps.places",
    needs=("search",),
    settings=True,
    labels={"place": "newsbot.apps.places.mentions:place_field"},
)
