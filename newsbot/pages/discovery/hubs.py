"""Finds the WebSub hubs that a feed or a page names.

Source: W3C Recommendation WebSub, 23 January 2018, section 4 (https://www.w3.org/TR/websub/#discovery).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

MAX_LINKS = 50
"""Maximum number of links that are read from a header or a page."""
# Matches <https://hub.example/>; rel="hub": the target in angle brackets, then parameters. The length of each
# part is limited, so that a match takes a limited time.
_LINK = re.compile(
    r"<([^<>]{1,2000})>((?:\s*;\s*[\w!#$%&'*+.^`|~-]+\s*=\s*(?:\"[^\"]{0,500}\"|[^\s\",;]{1,500}))*)"
)
_HEAD_LINKS = etree.XPath("//head/link[@href and @rel]")
# Matches ; rel="hub self" and ; rel=hub.
_RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))", re.IGNORECASE)


def links_of(headers: Iterable[str], base: str) -> dict[str, list[str]]:
    """Return the targets of ``Link`` headers (RFC 8288) by relation, in order, as absolute URLs."""
    found: dict[str, list[str]] = {}
    for header in headers:
        # The length is limited, because any server can send the header, and the pattern must not take long.
        for target, parameters in _LINK.findall(header[:20_000])[:MAX_LINKS]:
            relation = _RELATION.search(parameters)
            for name in (relation[1] or relation[2]).lower().split() if relation else ():
                found.setdefault(name, []).append(urljoin(base, target.strip()))
    return found


def hubs_in(tree: HtmlElement, base: str) -> tuple[list[str], str | None]:
    """Return the hubs and the first ``self`` link in the head of a page, as absolute URLs."""
    found: dict[str, list[str]] = {"hub": [], "self": []}
    for link in cast("list[HtmlElement]", _HEAD_LINKS(tree))[:MAX_LINKS]:
        for relation in link.get("rel", "").lower().split():
            if relation in found:
                found[relation].append(urljoin(base, link.get("href", "").strip()))
    return found["hub"], next(iter(found["self"]), None)


def topic_and_hubs(
    headers: Iterable[str], url: str, in_document: Iterable[str], self_in_document: str | None
) -> tuple[str, list[str]] | None:
    """Return the topic and the hubs of a feed, in order of preference; None if it has no hub (section 4).

    ``url`` is the URL of the feed. It is the topic, unless a ``self`` link names another URL. Headers take
    precedence over links in the document.
    """
    links = links_of(headers, url)
    hubs = list(dict.fromkeys([*links.get("hub", []), *in_document]))
    if not hubs:
        return None
    return next(iter(links.get("self", [])), self_in_document or url), hubs
