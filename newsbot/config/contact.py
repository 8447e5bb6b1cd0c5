"""Builds the user agent: name, version, and the contact of the person who runs the crawl."""

from __future__ import annotations

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from newsbot import __version__

ASK_FOR_CONTACT = (
    "NEWSBOT_CONTACT is not set: site owners cannot reach you; set it to your e-mail address or web page"
)
_MAX = 200
"""Maximum number of characters of the contact."""


def user_agent(contact: str) -> str:
    """Return the user agent. A contact that is not empty is added to it as a comment (RFC 9110, 10.1.5).

    Characters that would break the header or end the comment are removed.
    """
    clean = "".join(sign for sign in contact if sign.isascii() and sign.isprintable() and sign not in "()\\")
    clean = clean.strip()[:_MAX]
    return f"newsbot/{__version__}" + (f" (+{clean})" if clean else "")


def introduce(settings: BaseSettings) -> None:
    """Put NEWSBOT_CONTACT into the user agent, unless the user agent was set explicitly.

    :mod:`newsbot.settings` does the same for the environment variable NEWSBOT_CONTACT. This function is for
    the option ``-s`` on the command line.
    """
    # A higher priority than that of settings.py means the option -s, or custom_settings of a spider.
    by_hand = (settings.getpriority("USER_AGENT") or 0) > SETTINGS_PRIORITIES["project"]
    contact = settings.get("NEWSBOT_CONTACT")
    if contact and not by_hand:
        settings.set("USER_AGENT", user_agent(str(contact)), priority="cmdline")
