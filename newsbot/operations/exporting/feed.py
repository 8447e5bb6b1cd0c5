"""Writes articles as a feed, and the feeds of all sites as OPML.

A feed is Atom (RFC 4287) or RSS 2.0 (https://www.rssboard.org/rss-specification). It has the title, link,
times and summary of each article, but not the text. OPML is version 2.0 (http://opml.org/spec2.opml).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from newsbot.backends import open_rules, stored
from newsbot.cli.command import Call
from newsbot.cli.files import atomic_target
from newsbot.errors import ArgumentError, DataUnavailable
from newsbot.items import Article, ArticleFilter, Kind
from newsbot.rules.rule import RuleSet
from newsbot.search.articles import ArticleSearch
from newsbot.storage.sources import SourceRecord, Sources
from newsbot.text.words import clean

ATOM = "http://www.w3.org/2005/Atom"
TYPES = {"atom": "application/atom+xml", "rss": "application/rss+xml"}
"""The formats and their content types."""
SUMMARY = 400
"""Maximum number of characters of a summary. An article without a summary gets the start of its text."""
# Matches a character that XML 1.0 does not allow (section 2.2).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EARLY = datetime(1970, 1, 1, tzinfo=UTC)


def feed_of(
    search: ArticleSearch,
    query: str,
    where: ArticleFilter | None = None,
    *,
    kind: str = "atom",
    limit: int = 50,
    address: str = "",
    page: str = "",
) -> bytes:
    """Return the newest articles that match a query as a feed (XML in UTF-8). A blank query matches all.

    ``kind`` is a key of :data:`TYPES`, ``limit`` the maximum number of articles. ``address`` is the URL of
    the feed, if it has one; ``page`` is the URL of a page with the same articles. Raises
    :class:`ArgumentError` for an unknown ``kind``, and subclasses of :class:`newsbot.errors.DataError`.
    """
    hits = search.find(query, where, limit=limit)
    asked = [query.strip()] + ([where.source, where.language, where.story] if where else [None] * 3)
    title = ": ".join(["newsbot", *filter(None, [", ".join(filter(None, asked))])])
    # Feed readers recognise a feed by its id, so the same search always has the same id.
    identity = f"urn:uuid:{uuid5(NAMESPACE_URL, 'newsbot:' + json.dumps(asked))}"
    return to_feed(
        (hit.article for hit in hits), kind=kind, title=title, address=address, identity=identity, page=page
    )


def to_feed(
    articles: Iterable[Article],
    *,
    kind: str,
    title: str,
    address: str = "",
    identity: str = "urn:newsbot:feed",
    page: str = "",
) -> bytes:
    """Return articles as a feed (XML in UTF-8), in the given order.

    ``identity`` is the permanent URI of the feed. Raises :class:`ArgumentError` for an unknown ``kind``.
    """
    if kind not in TYPES:
        raise ArgumentError(f"{kind}: is not a feed format; choose one of: {', '.join(TYPES)}")
    given = list(articles)
    if kind == "atom":
        root = _atom(given, title, address, identity)
        if page:
            _add(root, "link", rel="alternate", type="text/html", href=_clean(page))
    else:
        root = _rss(given, title, page or address or identity)
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _atom(articles: list[Article], title: str, address: str, identity: str) -> ET.Element:
    root = ET.Element("feed", xmlns=ATOM)
    _add(root, "title", title)
    _add(root, "id", identity)
    _add(root, "updated", _iso(max(map(_moment, articles), default=_EARLY)))
    _add(_add(root, "author"), "name", "newsbot")
    if address:
        _add(root, "link", rel="self", href=_clean(address))
    for article in articles:
        entry = _add(root, "entry")
        _add(entry, "title", article.title)
        _add(entry, "id", article.canonical_url)
        _add(entry, "link", href=_clean(article.url))
        _add(entry, "updated", _iso(article.modified_at or _moment(article)))
        if article.published_at is not None:
            _add(entry, "published", _iso(article.published_at))
        # RFC 4287 requires an author. If the author is unknown, the site is given as the author.
        for author in article.authors or [article.source]:
            _add(_add(entry, "author"), "name", author)
        for tag in article.tags:
            _add(entry, "category", term=_clean(tag))
        _add(entry, "summary", _summary(article))
    return root


def _rss(articles: list[Article], title: str, address: str) -> ET.Element:
    root = ET.Element("rss", version="2.0")
    channel = _add(root, "channel")
    _add(channel, "title", title)
    _add(channel, "link", address)
    _add(channel, "description", title)
    _add(channel, "lastBuildDate", _mail(max(map(_moment, articles), default=_EARLY)))
    for article in articles:
        item = _add(channel, "item")
        _add(item, "title", article.title)
        _add(item, "link", article.url)
        _add(item, "guid", article.canonical_url, isPermaLink="false")
        _add(item, "pubDate", _mail(_moment(article)))
        for tag in article.tags:
            _add(item, "category", tag)
        _add(item, "description", _summary(article))
    return root


def _add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, name, attributes)
    element.text = None if text is None else _clean(text)
    return element


def _clean(text: str) -> str:
    """Return ``text`` without characters that XML 1.0 does not allow."""
    return _NO_XML.sub("", text)


def _summary(article: Article) -> str:
    text = article.summary or article.text
    return text if len(text) <= SUMMARY else text[:SUMMARY].rsplit(maxsplit=1)[0] + " …"


def _moment(article: Article) -> datetime:
    return article.published_at or article.fetched_at or _EARLY


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mail(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


MAX_FEEDS = 20
"""Maximum number of feeds per site."""


def feeds_of(rules: RuleSet, records: Iterable[SourceRecord]) -> dict[str, list[str]]:
    """Return the feed URLs of each site, by domain.

    If the rule of the site names feeds, these feeds are returned. Otherwise the result has the feeds that the
    crawl found and whose last poll succeeded.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for one in records:
        if one.kind is Kind.FEED and one.polls and not one.failures:
            found[one.source].append(one.url)
    named = {rule.domain: list(rule.feeds) for rule in rules if rule.feeds}
    return {site: feeds[:MAX_FEEDS] for site, feeds in sorted((found | named).items())}


def as_opml(rules: RuleSet, sources: Sources | None) -> bytes:
    """Return the content of the OPML file.

    ``sources`` is the repository of sources. If it is None, only the feeds in rules are included. A site is
    in the folder of each of its tags. A site without a tag is outside all folders. Raises
    :class:`newsbot.errors.DataError`.
    """
    root = Element("opml", version="2.0")
    SubElement(SubElement(root, "head"), "title").text = "newsbot: sites"
    body = SubElement(root, "body")
    folders: dict[str, Element] = {}
    tagged: Mapping[str, tuple[str, ...]] = {rule.domain: rule.tags for rule in rules}
    for tag in sorted({tag for tags in tagged.values() for tag in tags}):
        folders[tag] = SubElement(body, "outline", text=tag)
    for site, feeds in feeds_of(rules, sources.all() if sources else ()).items():
        for place in [folders[tag] for tag in tagged.get(site, ())] or [body]:
            for feed in map(clean, feeds):
                SubElement(place, "outline", type="rss", text=site, xmlUrl=feed, htmlUrl=f"https://{site}/")
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def export_opml(call: Call) -> None:
    """Write the feeds of all sites as OPML."""
    rules = open_rules(call.settings)
    try:
        with stored(call.settings) as storage:
            body = as_opml(rules, storage.sources)
    except DataUnavailable:
        body = as_opml(rules, None)  # nothing was crawled yet: only feeds in rules are known
    with atomic_target(call.options.output) as target:
        target.write(body)
