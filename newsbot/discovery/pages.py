"""URLs as sources write them, made absolute; and HTML pages as trees."""

from __future__ import annotations

import re

from lxml import etree

from newsbot.discovery.encoding import charset_of, decode
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


MAX_BODY = 8 << 20
"""Bytes that are read of one page when it comes as bytes."""

Page = bytes | etree._Element  # noqa: SLF001 - lxml's only name for the type of elements
"""A page as its body or as a tree of lxml's HTML parser."""

_BASE = etree.XPath("/*/head/base/@href | /*/body/base/@href")


def as_tree(page: Page, content_type: str | None = None) -> etree._Element | None:
    """Return the root element of a page; None for a body without any element."""
    if not isinstance(page, bytes):
        return page
    head = page[:1024].lower()
    charset = charset_of(content_type)
    at = head.find(b"charset=")
    if at >= 0:
        charset = charset_of(head[at : at + 60].decode("latin-1")) or charset
    text = decode(page[:MAX_BODY], charset).replace("\0", "")
    if not text.strip():
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(text.encode("utf-8"), parser)
    except etree.XMLSyntaxError:  # nothing in it that is an element
        return None


def base_of(tree: etree._Element, url: str) -> str:
    """Return what relative links of a page start from: its ``<base>``, else its address."""
    found = _BASE(tree)
    href = found[0] if isinstance(found, list) and found else None
    return (absolute(url, href) if isinstance(href, str) else None) or url
