"""Logs people in through a single sign-on (OpenID Connect), if NEWSBOT_OIDC_ISSUER is set.

* ``provider``: the provider's metadata, keys and tokens, and two pages: to the provider, and back
"""
