"""HTML pages as trees."""

from __future__ import annotations

from lxml import etree

from newsbot.discovery.addresses import absolute
from newsbot.discovery.encoding import charset_of, decode

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
