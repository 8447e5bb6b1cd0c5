"""Reads one page without a crawl, for ``scrapy parse --spider news URL``. Nothing is stored."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from scrapy import Request
from scrapy.http import Response

from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.items import Article
from newsbot.middlewares import content_type_of, tree_of
from newsbot.pages.discovery.feeds import SourceError, parse_feed
from newsbot.pages.discovery.list_pages import find_links
from newsbot.pages.discovery.sitemaps import parse_sitemap
from newsbot.pages.extraction import read_page
from newsbot.pages.extraction.documents import DocumentReader
from newsbot.pages.rules import RuleSet
from newsbot.spiders.reading import looks_like_html, page_of

logger = logging.getLogger(__name__)


def read_one_page(
    response: Response, rules: RuleSet, documents: Sequence[DocumentReader] = ()
) -> Iterator[Article | Request]:
    """Yield the article of a page, and a request for each link of a page, feed or sitemap.

    ``documents`` read files that are not HTML. The log says why a page is not an article.
    """
    try:
        response = page_of(documents, response)
    except NotAnArticle as error:
        logger.warning("not an article url=%s reason=%s", response.url, error.reason)
        return
    if not looks_like_html(response.body, content_type_of(response)):
        links = _listed(response)
    else:
        links, rule, now = [], rules.for_url(response.url), utc(system_clock())
        try:
            tree = tree_of(response)
            links = [link.url for link in find_links(tree, response.url)]
            yield read_page(response.body, response.url, rule=rule, tree=tree, now=now, vouched=True)
        except NotAnArticle as error:
            logger.warning("not an article url=%s reason=%s", response.url, error.reason)
    yield from map(Request, links)


def _listed(response: Response) -> list[str]:
    """Return the addresses in a feed or sitemap."""
    try:
        feed = parse_feed(response.body, response.url, content_type_of(response))
        return [link.url for link in feed.links]
    except SourceError:
        try:
            sitemap = parse_sitemap(response.body, response.url)
        except SourceError as error:
            logger.warning("not a page, feed or sitemap url=%s fault=%s", response.url, error)
            return []
        return [*(link.url for link in sitemap.links), *(child.url for child in sitemap.children)]
