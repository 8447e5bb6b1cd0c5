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
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from newsbot.apps.files import atomic_target
from newsbot.apps.search.articles import ArticleSearch
from newsbot.backends import open_rules, stored
from newsbot.cli.command import Call
from newsbot.errors import ArgumentError, DataUnavailable
from newsbot.items import Article, ArticleFilter
from newsbot.pages.rules.rule import RuleSet
from newsbot.pages.text.words import clean
from newsbot.storage.base import SourceRecord, Sources

if TYPE_CHECKING:
    from jinja2 import Environment

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
    hub: str = "",
) -> bytes:
    """Return the newest articles that match a query as a feed (XML in UTF-8). A blank query matches all.

    ``kind`` is a key of :data:`TYPES`, and ``limit`` is the maximum number of articles. ``address`` is the
    URL of the feed, if it has a URL. ``page`` is the URL of a page with the same articles, and ``hub`` is
    that of a WebSub hub. Raises :class:`ArgumentError` for an unknown ``kind``, and subclasses of
    :class:`newsbot.errors.DataError`.
    """
    hits = search.find(query, where, limit=limit)
    asked = [query.strip()] + ([where.source, where.language, where.story] if where else [None] * 3)
    title = ": ".join(["newsbot", *filter(None, [", ".join(filter(None, asked))])])
    # Feed readers recognise a feed by its id, so the same search always has the same id.
    identity = f"urn:uuid:{uuid5(NAMESPACE_URL, 'newsbot:' + json.dumps(asked))}"
    return to_feed(
        (hit.article for hit in hits),
        kind=kind,
        title=title,
        address=address,
        identity=identity,
        page=page,
        hub=hub,
    )


def to_feed(
    articles: Iterable[Article],
    *,
    kind: str,
    title: str,
    address: str = "",
    identity: str = "urn:newsbot:feed",
    page: str = "",
    hub: str = "",
) -> bytes:
    """Return articles as a feed (XML in UTF-8), in the given order.

    ``identity`` is the permanent URI of the feed. Raises :class:`ArgumentError` for an unknown ``kind``.
    """
    if kind not in TYPES:
        raise ArgumentError(f"{kind}: is not a feed format; choose one of: {', '.join(TYPES)}")
    given = list(articles)
    return _rendered(
        f"{kind}.xml",
        articles=given,
        title=title,
        address=address,
        identity=identity,
        page=page,
        hub=hub,
        updated=max(map(_moment, given), default=_EARLY),
    )


def _clean(value: object) -> str:
    """Return a value as text, without characters that XML 1.0 does not allow."""
    return "" if value is None else _NO_XML.sub("", str(value))


def _summary(article: Article) -> str:
    text = article.summary or article.text
    return text if len(text) <= SUMMARY else text[:SUMMARY].rsplit(maxsplit=1)[0] + " …"


def _moment(article: Article) -> datetime:
    return article.published_at or article.fetched_at or _EARLY


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mail(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


@cache
def _templates() -> Environment:
    # Only feeds need jinja2, and its import takes time.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("newsbot.apps.export"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_clean,
    )
    environment.filters |= {"iso": _iso, "rfc5322": _mail, "summary": _summary, "moment": _moment}
    return environment


def _rendered(template: str, **values: object) -> bytes:
    return f"{_templates().get_template(template).render(**values)}\n".encode()


MAX_FEEDS = 20
"""Maximum number of feeds per site."""


def feeds_of(rules: RuleSet, records: Iterable[SourceRecord]) -> dict[str, list[str]]:
    """Return the feed URLs of each site, by domain.

    If the rule of the site names feeds, these feeds are returned. Otherwise the result contains the feeds
    that the crawl found, if their last poll succeeded.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for one in records:
        if one.kind.is_feed and one.polls and not one.failures:
            found[one.source].append(one.url)
    named = {rule.domain: list(rule.feeds) for rule in rules if rule.feeds}
    return {site: feeds[:MAX_FEEDS] for site, feeds in sorted((found | named).items())}


def as_opml(rules: RuleSet, sources: Sources | None) -> bytes:
    """Return the content of the OPML file.

    ``sources`` is the repository of sources. If it is None, only the feeds in rules are included. A site is
    in the folder of each of its tags. A site without a tag is outside all folders. Raises
    :class:`newsbot.errors.DataError`.
    """
    tagged: Mapping[str, tuple[str, ...]] = {rule.domain: rule.tags for rule in rules}
    folders: dict[str, dict[str, list[str]]] = {tag: {} for tag in sorted(set(chain(*tagged.values())))}
    folders[""] = {}  # the sites without a tag; they come last, outside of the folders
    for site, feeds in feeds_of(rules, sources.iter() if sources else ()).items():
        for tag in tagged.get(site) or [""]:
            folders[tag][site] = [clean(feed) for feed in feeds]
    return _rendered("opml.xml", folders=folders)


def export_opml(call: Call) -> None:
    """Write the feeds of all sites as OPML."""
    rules = open_rules(call.settings)
    try:
        with stored(call.settings) as storage:
            body = as_opml(rules, storage.sources)
    except DataUnavailable:
        body = as_opml(rules, None)  # nothing has been crawled yet, so only feeds in rules are known
    with atomic_target(call.options.output) as target:
        target.write(body)
