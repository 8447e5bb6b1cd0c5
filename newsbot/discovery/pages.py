"""Makes the URLs in feeds, sitemaps and pages absolute."""

from __future__ import annotations

import re

from lxml import etree

from newsbot.urls import MAX_URL, resolve

_PLAIN = re.compile(r"https?://[^\s/\\][^\s\\\x00-\x1f\x7f\u2028\u2029]*", re.IGNORECASE)
_COMMON = re.compile(r"https?://(?!.{0,250}xn--)(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}(?:[/?#][!-\[\]-~]*)?")
"""The form of nine in ten URLs. A URL of this form is always valid, so it need not be parsed."""


def absolute(base: str, href: str) -> str | None:
    """Return ``href`` as an absolute http(s) URL; None if it is not an http(s) URL or too long.

    A URL that is already absolute is not changed: the crawler fetches the URL as the site wrote it. Only
    ``&amp;`` from double escaping is resolved, because it is always an error.
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
    return href if _PLAIN.fullmatch(href) else joined  # joining may have changed the spelling


_BASE = etree.XPath("/*/head/base/@href | /*/body/base/@href")


def base_of(tree: etree._Element, url: str) -> str:
    """Return the base of relative links of a page: the URL of its ``<base>``, or else its own URL."""
    found = _BASE(tree)
    href = found[0] if isinstance(found, list) and found else None
    return (absolute(url, href) if isinstance(href, str) else None) or url
