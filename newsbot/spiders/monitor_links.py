"""The links of a page that the monitor reads: who links to what, and pages that nobody had asked for.

To pages of the crawl database the link is added (that is what :meth:`newsbot.storage.base.Storage.discover`
is for: their states and plans stay); others are checked in this run, and get no record: to find pages is the
news crawl's work, by its rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response
from w3lib.encoding import http_content_type_encoding

from newsbot.discovery.sections import find_links
from newsbot.errors import DataError, NotAnArticle
from newsbot.extraction import parse_html
from newsbot.items import PageRecord
from newsbot.monitoring.asking import Target
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.urls import canonicalize, fingerprint

if TYPE_CHECKING:
    from newsbot.spiders.monitor import MonitorSpider


def links_of(spider: MonitorSpider, response: Response, target: Target) -> Iterator[Request]:
    """Keep who links to what; yield requests for pages of the site that have no record."""
    rule = spider.state.rules.get(target.source)
    found = {} if rule is None else _on_site(spider, response, rule)
    try:
        known = spider.storage.pages(list(found))
        linked = [_linked(page, response.url, target.depth + 1) for page in known.values()]
        spider.storage.discover(linked)
    except DataError:  # the outage has told it; the links are read again in the next run
        return
    if rule is None or target.depth + 1 > rule.max_depth:
        return
    for key, url in found.items():
        if key not in known:
            yield spider.request_for(url, rule, found_on=response.url, depth=target.depth + 1)


def _on_site(spider: MonitorSpider, response: Response, rule: Rule) -> dict[bytes, str]:
    """Return the links of a page to pages of its site, by fingerprint."""
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    media = content_type.partition(";")[0].strip().lower()
    if media and "html" not in media:
        return {}
    try:
        tree = parse_html(response.body, http_content_type_encoding(content_type))
    except NotAnArticle:  # empty, or a picture that says it is a page
        return {}
    found: dict[bytes, str] = {}
    for link in find_links(tree, response.url):
        try:
            canonical = canonicalize(link.url, rule.drop_query)
        except ValueError:
            continue
        if spider.state.rule_for(link.url).domain == rule.domain and not classify(rule, canonical).denied:
            found.setdefault(fingerprint(canonical), link.url)
    return found


def _linked(page: PageRecord, referrer: str, depth: int) -> PageRecord:
    """Return what is told of a known page: that another one links to it."""
    return PageRecord(
        url=page.url,
        fingerprint=page.fingerprint,
        host=page.host,
        source=page.source,
        kind=page.kind,
        referrers=[referrer],
        referrer_count=1,
        depth=depth,
        first_seen=page.first_seen,
    )
