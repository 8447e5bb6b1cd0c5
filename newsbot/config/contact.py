"""The user agent: name, version, and how site owners reach the person who runs the crawl."""

from __future__ import annotations

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from newsbot import __version__

ASK_FOR_CONTACT = (
    "NEWSBOT_CONTACT is not set: owners of sites cannot reach you; set it to an address or a page of yours"
)
_MAX = 200


def user_agent(contact: str) -> str:
    """Return the user agent, with the contact as a comment (RFC 9110, 10.1.5) if there is one.

    Characters that would break the header or end the comment are left out.
    """
    clean = "".join(sign for sign in contact if sign.isascii() and sign.isprintable() and sign not in "()\\")
    clean = clean.strip()[:_MAX]
    return f"newsbot/{__version__}" + (f" (+{clean})" if clean else "")


def introduce(settings: BaseSettings) -> None:
    """Add a contact given on the command line to the user agent, unless the agent was set explicitly."""
    by_hand = (settings.getpriority("USER_AGENT") or 0) > SETTINGS_PRIORITIES["project"]
    contact = settings.get("NEWSBOT_CONTACT")
    if contact and not by_hand:
        settings.set("USER_AGENT", user_agent(str(contact)), priority="cmdline")
