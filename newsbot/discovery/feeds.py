"""Feeds: RSS 0.9x to 2.0, RDF (RSS 1.0), Atom 0.3 and 1.0, JSON Feed.

Sources: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec,
RFC 4287 (Atom), RFC 5005 (paging), https://www.w3.org/TR/websub/, https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from newsbot.clock import system_clock, utc
from newsbot.discovery.encoding import charset_of, decode, gunzip
from newsbot.discovery.feed_types import MAX_ITEMS, Collector, Feed, FeedError
from newsbot.discovery.feed_xml import FeedHandler
from newsbot.discovery.jsonfeed import read_json
from newsbot.discovery.xml_events import Malformed, pieces, read_loosely, read_strictly

MAX_BODY = 16 << 20
"""Bytes that are read of one feed; what follows is left (``too_long``)."""

_JUNK = 1 << 16
"""Characters in which the feed has to begin: servers print warnings before it."""
_ROOT = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:rss|rdf|feed|channel)(?=[\s>/])", re.IGNORECASE)
_HTML = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)(?=[\s>/])", re.IGNORECASE)
_PROLOGUE = re.compile(
    r"(?:\s++|<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|<![A-Za-z][^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
)
"""What may stand before the root: declarations, comments, a DOCTYPE."""
_ITEM = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE)


def parse_feed(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    now: datetime | None = None,
    zone: tzinfo = UTC,
) -> Feed:
    """Return what a feed holds, as far as it can be read.

    ``url`` is where it came from; ``zone`` is taken for times without one; dates more than a day
    after ``now`` are faults. Raises :class:`FeedError` for what is no feed; every other fault is
    counted in ``problems``. Time and memory are linear in the first :data:`MAX_BODY` bytes.
    """
    source = _Source(url, now or utc(system_clock()), zone)
    body = gunzip(body, MAX_BODY + 1)
    if len(body) > MAX_BODY:
        source.problems.append("too_long")
        body = body[:MAX_BODY]
    text = decode(body, charset_of(content_type)).strip("\0 \t\r\n")
    if not text:
        raise FeedError("empty")
    return read_json(text, source.collector()) if text[0] == "{" else _read_xml(text, source)


@dataclass(slots=True)
class _Source:
    """From where and when, and the faults known before reading: a reading may have to start anew."""

    url: str
    now: datetime
    zone: tzinfo
    problems: list[str] = field(default_factory=list)

    def collector(self) -> Collector:
        return Collector(self.url, self.now, self.zone, self.problems)


def _read_xml(text: str, source: _Source) -> Feed:
    root = _ROOT.search(text, 0, _JUNK)
    if _HTML.search(text, 0, root.start() if root else _JUNK):
        raise FeedError("html")
    if root is None:
        raise FeedError("not_a_feed")
    if not _PROLOGUE.fullmatch(text, 0, root.start()):
        source.problems.append("leading_junk")
    text = text[root.start() :]
    found = source.collector()
    handler = FeedHandler(found)
    try:
        flaw: str | None = read_strictly(pieces(text), handler)
    except Malformed:
        flaw = "malformed"
        found = source.collector()
        handler = FeedHandler(found)
        read_loosely(pieces(text), handler)
    handler.close()
    if flaw:
        found.problem(flaw)
    if found.full:
        found.problem("too_many_items", sum(1 for _ in _ITEM.finditer(text)) - MAX_ITEMS)
    return found.feed()
