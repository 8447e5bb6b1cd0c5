"""Finds the address to which a page forwards its readers, in ``<meta http-equiv=refresh>`` or ``Refresh``."""

from __future__ import annotations

import re

from newsbot.errors import NotAnArticle
from newsbot.pages.extraction.page.page import parse_html
from newsbot.pages.extraction.page.visible import visible_text
from newsbot.pages.extraction.strings import size
from newsbot.urls import absolute

_AT_ONCE = 5
"""Maximum number of seconds until a page forwards. Pages that reload themselves wait for minutes."""
_HARDLY_ANY = 600
"""A page with at least this number of letters is read, although it forwards."""
_HEAD = 50_000
"""Number of bytes at the start of a page that are searched."""
# Matches values such as "0; url=/new" and "3, '/new'".
_VALUE = re.compile(
    r"\s{0,20}(\d{1,4})?(?:\.\d{0,9})?\s{0,20}[;,\s]\s{0,20}(?:url\s{0,20}=\s{0,20})?"
    r"(?:\"([^\"]+)|'([^']+)|([^\s'\"].*))",
    re.IGNORECASE | re.DOTALL,
)


def forward_target(
    body: bytes, url: str, header: str = "", charset: str | None = None, *, reloads: bool = False
) -> str | None:
    """Return the absolute URL to which a response forwards at once, or None.

    ``header`` is the value of the header ``Refresh``. The result is None if the page has a text of its own,
    and, unless ``reloads`` is True, if it reloads itself.
    """
    start = body[:_HEAD].lower()
    if not header and not (b"http-equiv" in start and b"refresh" in start):
        return None
    own = "" if reloads else url
    try:
        tree = parse_html(body, charset)
    except NotAnArticle:
        return _target(header, url, own)
    values = [header]
    values += [
        element.get("content") or ""
        for element in tree.iter("meta")
        if (element.get("http-equiv") or "").strip().lower() == "refresh"
    ]
    base = absolute(url, next((element.get("href") or "" for element in tree.iter("base")), "")) or url
    targets = (_target(value, base, own) for value in values)
    found = next((target for target in targets if target is not None), None)
    return found if found is not None and size(visible_text(tree)) < _HARDLY_ANY else None


def _target(value: str, base: str, own: str) -> str | None:
    match = _VALUE.match(value[:5000])
    if match is None or int(match[1] or 0) > _AT_ONCE:
        return None
    address = absolute(base, (match[2] or match[3] or match[4]).strip())
    return None if address is None or address.partition("#")[0] == own.partition("#")[0] else address
