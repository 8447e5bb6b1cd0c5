"""Logs people in through a single sign-on (OpenID Connect), if NEWSBOT_OIDC_ISSUER is set.

* ``provider``: the provider's metadata, keys and tokens, and two pages: to the provider, and back
"""

from newsbot.config.apps import App

APP = App(
    name="sso",
    package="newsbot.apps.sso",
    needs=("team", "web"),
    settings=True,
    pages=("newsbot.apps.sso.provider:add",),
)
