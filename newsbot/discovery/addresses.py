"""Addresses in sources: made absolute, otherwise left as the site wrote them."""

from __future__ import annotations

import re

from newsbot.urls import MAX_URL, resolve

_PLAIN = re.compile(r"https?://[^\s/\\][^\s\\\x00-\x1f\x7f\u2028\u2029]*", re.IGNORECASE)
_COMMON = re.compile(r"https?://(?!.{0,250}xn--)(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}(?:[/?#][!-\[\]-~]*)?")
"""Nine in ten; such a one is valid for sure, and need not be parsed to know it."""


def absolute(base: str, href: str) -> str | None:
    """Return ``href`` as an absolute http(s) address, None if it is none.

    An address that is absolute already stays letter for letter: what is fetched is what the site
    wrote. ``&amp;`` left over from escaping twice is undone; nobody means it.
    """
    href = href.strip()
    if not href:
        return None
    if "&amp;" in href or "&#38;" in href:
        href = href.replace("&amp;", "&").replace("&#38;", "&")
    if _COMMON.fullmatch(href):
        return href if len(href) <= MAX_URL else None
    joined = resolve(base, href)
    if joined is None:
        return None
    return href if _PLAIN.fullmatch(href) else joined
