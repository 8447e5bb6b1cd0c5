"""Addresses in sources: made absolute, otherwise left as the site wrote them."""

from __future__ import annotations

import re

from newsbot.urls import MAX_URL, resolve

_PLAIN = re.compile(r"https?://[^\s/\\][^\s\\\x00-\x1f\x7f\u2028\u2029]*", re.IGNORECASE)


def absolute(base: str, href: str) -> str | None:
    """Return ``href`` as an absolute http(s) address, None if it is none.

    An address that is absolute already stays letter for letter: what is fetched is what the site
    wrote. ``&amp;`` left over from escaping twice is undone; nobody means it.
    """
    href = href.strip()
    if not href or len(href) > MAX_URL:
        return None
    if "&amp;" in href or "&#38;" in href:
        href = href.replace("&amp;", "&").replace("&#38;", "&")
    joined = resolve(base, href)
    if joined is None:
        return None
    return href if _PLAIN.fullmatch(href) else joined
