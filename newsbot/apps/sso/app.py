"""Single sign-on with OpenID Connect."""

from newsbot.config.apps import App

APP = App(
    name="sso",
    package="newsbot.apps.sso",
    needs=("team", "web"),
    settings=True,
    pages=("newsbot.apps.sso.provider:add",),
)
