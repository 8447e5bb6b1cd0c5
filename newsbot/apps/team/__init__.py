"""The people who may use the dashboard and the API: named tokens with roles, and a log of what they did.

* ``people``: people, their roles and tokens, what they have read and starred, the log of their actions, and
  ``newsbot team``
"""

from newsbot.config.apps import App

APP = App(
    name="team",
    package="newsbot.apps.team",
    commands={
        "team": (
            "Read",
            "Give people tokens for the dashboard, and show what they did",
            "newsbot.apps.team.people:ACTIONS",
        )
    },
)
