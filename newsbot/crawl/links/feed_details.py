"""Adds a feed's data to articles that were leased or stored before the feed was read.

A home page often links to an article before the feed is read. While the frontier's entry of the article is
pending, the feed's data are added to it (:meth:`newsbot.frontier.base.Frontier.add`). But a leased entry
never changes. This module keeps the feed's data until the article is stored. The data then fill the fields
that were not found on the article's page.
"""

from __future__ import annotations

from collections.abc import Iterable

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, EntryData
from newsbot.items import Article, Bounded, GivenBy, Kind, Where

MAX_WAITING = 10_000
"""Maximum number of pages whose feed data wait for the article."""
MAX_SETTLED = 50_000
"""Maximum number of pages that are remembered because their articles already have the data."""
FEED = "feed"
"""Value in ``Article.extraction`` for a field that was taken from a feed after the page was read."""
_LISTINGS = (Where.FEED, Where.NEWS_SITEMAP)


class FeedDetails:
    """Fills time and authors of stored articles from feeds.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._waiting = Bounded[bytes, EntryData](MAX_WAITING)
        """The data of feeds that wait for the article, by fingerprint of the page."""
        self._settled = Bounded[bytes, None](MAX_SETTLED)
        """Fingerprints of pages whose articles already have the data of a feed."""

    def take(self, known: Iterable[Entry]) -> None:
        """Keep a feed's data about pages that are already known, and add the data to stored articles.

        ``known`` are the entries that were made from the feed's links to these pages.
        """
        found = {
            entry.fingerprint: entry.data
            for entry in known
            if entry.kind is Kind.ARTICLE
            and entry.data["where"] in _LISTINGS
            and ("published_at" in entry.data or "authors" in entry.data)
            and entry.fingerprint not in self._settled
        }
        self._waiting.update(found)
        # A long feed may have more items than _waiting keeps. Items that _waiting has already dropped are
        # left out.
        self._fill(found.keys() & self._waiting.keys())

    def end(self, visit: Visit) -> None:
        """After a visit, add the data of a feed to the page's article, if a feed has listed the article in
        the meantime."""
        key = visit.lease.entry.fingerprint
        if key in self._waiting and visit.reading.is_article:
            self._fill([key], visit.reading.canonical_url or "")

    def finish(self) -> None:
        """Add the remaining data to articles that other workers have stored.

        Called before the crawl closes.
        """
        self._fill(list(self._waiting))

    def _fill(self, keys: Iterable[bytes], canonical_url: str | None = None) -> None:
        articles = self._context.storage.articles
        # After a visit the article's canonical URL is known. If it differs from the page's URL, the page's
        # fingerprint does not find the article, so the canonical URL is used.
        found = articles.with_keys(list(keys)) if canonical_url is None else {}
        if canonical_url is not None and (article := articles.get(canonical_url)) is not None:
            found = dict.fromkeys(keys, article)
        for key, article in found.items():
            data = self._waiting.pop(key)
            if not GivenBy.of(data).counts_for(article.source):
                continue
            if filled(article, data):
                articles.save_origin(article)
                self._context.count("articles/dated_by_feed")
            self._settled.add(key)


def filled(article: Article, data: EntryData) -> bool:
    """Set publication time and authors if ``article`` lacks them. Return True if the article was changed.

    ``data`` has the data of a feed. If the article has only a date, and the feed has a time on that day, the
    time of the feed is used.
    """
    at = from_iso(data.get("published_at"))
    own, authors = article.published_at, data.get("authors")
    day_only = own is not None and article.published_precision == "day"
    lacks = at is not None and (own is None or (day_only and own.date() == at.date()))
    if lacks:
        article.published_at, article.published_precision, article.published_source = at, "second", FEED
        article.extraction["published_at"] = FEED
    if authors and not article.authors:
        article.authors = list(authors)
        article.extraction["authors"] = FEED
        return True
    return lacks
