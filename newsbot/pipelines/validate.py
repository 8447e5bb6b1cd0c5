"""First pipeline: drops articles that are incomplete, removed, or not within the dates of the arguments."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.failures import DropItem
from newsbot.items import Article, Reason
from newsbot.sites.pauses_and_removals import is_out
from newsbot.urls import canonicalize

MAX_TEXT = 5_000_000
"""Maximum number of characters of a text. The rest is cut off."""
MAX_TITLE = 2_000
"""Maximum number of characters of a title. The rest is cut off."""


def fault_of(article: Article) -> str | None:
    """Return the token of the reason why the article cannot be stored, or None.

    Also truncates title and text, and brings ``canonical_url`` into its canonical form.
    """
    if not article.title.strip():
        return "no_title"
    if not article.text.strip():
        return "no_text"
    if not article.source:
        return "no_source"
    try:
        article.canonical_url = canonicalize(article.canonical_url or article.url)
    except ValueError:
        return Reason.BAD_URL.value
    article.title = article.title.strip()[:MAX_TITLE]
    article.text = article.text[:MAX_TEXT]
    return None


class ValidatePipeline(Component):
    """Drops incomplete and removed articles, and articles that are not within the dates of the arguments."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals
        self._arguments = crawl.scope.arguments

    def process_item(self, item: Any) -> Any:
        """Return the article, or raise ``DropItem`` with the reason."""
        if not isinstance(item, Article):
            return item
        reason = fault_of(item) or self._outside(item) or self._removed(item)
        if reason is not None:
            self._context.count(f"dropped/{reason}")
            raise DropItem(reason)
        return item

    def _removed(self, article: Article) -> str | None:
        """Return the reason if the article was removed by a person, else None."""
        return Reason.REMOVED.value if is_out(article, self._removals.covers) else None

    def _outside(self, article: Article) -> str | None:
        arguments, moment = self._arguments, article.published_at
        if moment is None:
            return None
        if arguments.since and moment < arguments.since:
            return "before_since"
        return "after_until" if arguments.until and moment >= arguments.until else None
