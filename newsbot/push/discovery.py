"""Where a feed's hub is (WebSub, section 4): HTTP Link headers before what the document says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

MAX_LINKS = 50
_LINK = re.compile(
    r"<([^<>]{1,2000})>((?:\s*;\s*[\w!#$%&'*+.^`|~-]+\s*=\s*(?:\"[^\"]{0,500}\"|[^\s\",;]{1,500}))*)"
)
_HEAD_LINKS = etree.XPath("//head/link[@href and @rel]")
_RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))", re.IGNORECASE)


def links_of(headers: Iterable[str], base: str) -> dict[str, list[str]]:
    """Return the targets of Link headers (RFC 8288) by relation, in order, made absolute against ``base``."""
    found: dict[str, list[str]] = {}
    for header in headers:
        for target, parameters in _LINK.findall(header[:20_000])[:MAX_LINKS]:
            relation = _RELATION.search(parameters)
            for name in (relation[1] or relation[2]).lower().split() if relation else ():
                found.setdefault(name, []).append(urljoin(base, target.strip()))
    return found


def hubs_in(tree: HtmlElement, base: str) -> tuple[list[str], str | None]:
    """Return the hubs and the own address that a page's head names, made absolute against ``base``."""
    found: dict[str, list[str]] = {"hub": [], "self": []}
    for link in cast("list[HtmlElement]", _HEAD_LINKS(tree))[:MAX_LINKS]:
        for relation in link.get("rel", "").lower().split():
            if relation in found:
                found[relation].append(urljoin(base, link.get("href", "").strip()))
    return found["hub"], next(iter(found["self"]), None)


def topic_and_hubs(
    headers: Iterable[str], url: str, in_document: Iterable[str], self_in_document: str | None
) -> tuple[str, list[str]] | None:
    """Return a feed's topic and its hubs, best first, or None if it has no hub.

    ``url`` is where the feed came from; it is the topic if nobody names another.
    """
    links = links_of(headers, url)
    hubs = list(dict.fromkeys([*links.get("hub", []), *in_document]))
    if not hubs:
        return None
    return next(iter(links.get("self", [])), self_in_document or url), hubs
