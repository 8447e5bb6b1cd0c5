"""Writes the feeds of all sites as OPML 2.0 (http://opml.org/spec2.opml), with a folder for each tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from newsbot.items import Kind
from newsbot.rules.rule import RuleSet
from newsbot.storage.sources import SourceRecord, Sources
from newsbot.text.words import clean

MAX_FEEDS = 20
"""Maximum number of feeds per site."""


def feeds_of(rules: RuleSet, records: Iterable[SourceRecord]) -> dict[str, list[str]]:
    """Return the feed URLs of each site, by domain.

    These are the feeds in the rule of the site. If the rule has no feeds, they are the feeds that the crawl
    found and that work. A feed works if it was polled and its last poll did not fail.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for one in records:
        if one.kind is Kind.FEED and one.polls and not one.failures:
            found[one.source].append(one.url)
    named = {rule.domain: list(rule.feeds) for rule in rules if rule.feeds}
    return {site: feeds[:MAX_FEEDS] for site, feeds in sorted((found | named).items())}


def as_opml(rules: RuleSet, sources: Sources | None) -> bytes:
    """Return the content of the OPML file.

    ``sources`` has the sources in the storage. If it is None, only the feeds in rules are written. A site is
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
