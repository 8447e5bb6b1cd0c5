"""Places that articles name, in Russian, English and German.

* ``mentions``: names of places, which of them a text means, and the field ``place`` of searches
"""

from newsbot.config.apps import App

APP = App(
    name="places",
    package="newsbot.apps.places",
    needs=("search",),
    settings=True,
    labels={"place": "newsbot.apps.places.mentions:place_field"},
)
