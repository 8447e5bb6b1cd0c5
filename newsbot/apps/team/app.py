"""Named tokens with roles, and a log of actions."""

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
