"""Reads feeds: RSS 0.9x to 2.0, RDF (RSS 1.0), Atom 0.3 and 1.0, JSON Feed.

Sources: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec, RFC 4287 (Atom),
RFC 5005 (paging), https://www.w3.org/TR/websub/, https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice

from newsbot.clock import system_clock, utc
from newsbot.discovery.encoding import charset_of, decode, gunzip
from newsbot.discovery.feed_types import MAX_ITEMS, Collector, Feed, FeedError
from newsbot.discovery.feed_xml import FeedHandler
from newsbot.discovery.jsonfeed import read_json
from newsbot.discovery.xml_events import Malformed, pieces, read_loosely, read_strictly

MAX_BODY = 16 << 20
"""Maximum number of bytes of a feed that are read. The rest is ignored, which is the fault ``too_long``."""

_JUNK = 1 << 16
"""Maximum number of characters before the feed. Some servers print warnings there."""
_ROOT = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:rss|rdf|feed|channel)(?=[\s>/])", re.IGNORECASE)
_HTML = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)(?=[\s>/])", re.IGNORECASE)
_PROLOGUE = re.compile(
    r"(?:\s++|<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|<![A-Za-z][^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
)
"""Text that may precede the root element: declarations, comments, a DOCTYPE."""
_ENTITY = re.compile(
    r"""<!ENTITY\s{1,9}(?!(?:amp|lt|gt|quot|apos)\s)([A-Za-z][\w.\-]{0,30})\s{1,9}"""
    r"""["']((?:[^&%<"']|&amp;){1,200})["']\s{0,9}>"""
)
_MAX_ENTITIES, _MAX_USES = 20, 2 * MAX_ITEMS
"""Maximum number of entities that are replaced, and maximum number of replacements of each entity.

Both limit the growth of the text. An entity has at most 200 characters, and entities in replaced text are not
expanded again.
"""
_ITEM = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE)


def parse_feed(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    now: datetime | None = None,
    zone: tzinfo = UTC,
) -> Feed:
    """Return the content of a feed, as far as it can be read.

    ``body`` may be gzip. ``url`` is the URL of the feed, ``content_type`` is the header of the response.
    ``zone`` is used for times without a zone. Dates more than a day after ``now`` (default: the current time)
    are faults. Raises :class:`FeedError` if the body is not a feed. All other faults are counted in
    ``problems``. Time and memory are linear in the size of the body, up to :data:`MAX_BODY`.
    """
    source = _Source(url, now or utc(system_clock()), zone)
    body = gunzip(body, MAX_BODY + 1)  # one byte more than the limit, to notice that the body is too long
    if len(body) > MAX_BODY:
        source.problems.append("too_long")
        body = body[:MAX_BODY]
    text = decode(body, charset_of(content_type)).strip("\0 \t\r\n")
    if not text:
        raise FeedError("empty")
    return read_json(text, source.collector()) if text[0] == "{" else _read_xml(text, source)


@dataclass(slots=True)
class _Source:
    """The origin and time of a feed, and the faults that were found before parsing."""

    url: str
    now: datetime
    zone: tzinfo
    problems: list[str] = field(default_factory=list)

    def collector(self) -> Collector:
        """Return a new collector. A second one is needed if parsing has to start again."""
        return Collector(self.url, self.now, self.zone, self.problems)


def _with_entities(text: str, prologue: str) -> str:
    """Replace the entities that the DOCTYPE declares as short plain texts, up to the limits.

    The parsers do not expand declared entities, because these can make a document grow without bound.
    """
    values = {f"&{name};": value for name, value in islice(_ENTITY.findall(prologue), _MAX_ENTITIES)}
    for name, value in values.items():
        text = text.replace(name, value, _MAX_USES)
    return text


def _read_xml(text: str, source: _Source) -> Feed:
    prologue = _PROLOGUE.match(text)
    assert prologue is not None  # it may be empty
    root = _ROOT.match(text, prologue.end())
    if root is None:  # there is text before the root element that does not belong to the feed
        root = _ROOT.search(text, 0, _JUNK)
        # an HTML page may contain the text of a feed, e.g. in an example
        if _HTML.search(text, 0, root.start() if root else _JUNK):
            raise FeedError("html")
        if root is None:
            raise FeedError("not_a_feed")
        source.problems.append("leading_junk")
    text = _with_entities(text[root.start() :], prologue[0])
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
