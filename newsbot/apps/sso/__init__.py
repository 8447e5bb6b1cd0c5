"""Logs people in through a single sign-on (OpenID Connect), if NEWSBOT_OIDC_ISSUER is set.

Files in reading order:

* ``pages``: the two pages of the dashboard: to the provider, and back
* ``provider``: the provider: its metadata, its keys and its tokens
"""
