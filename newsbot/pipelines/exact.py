"""Third pipeline: drops unchanged pages, and texts that the site already has under another address."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.failures import DropItem
from newsbot.crawl.links.feed_details import FEED
from newsbot.dedup.minhash import text_key
from newsbot.dedup.story_merge import settle_again
from newsbot.items import Article, Reason
from newsbot.pages.extraction import is_substantial
from newsbot.pipelines.address import AddressChoice
from newsbot.urls import canonicalize, fingerprint


class ExactDuplicatePipeline(Component):
    """Fills ``content_hash`` and drops copies before the expensive steps.

    Two workers may store the same text at the same time. The unique indexes of the storage then detect the
    copy.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._copies = CopyFilter(crawl)

    async def process_item(self, item: Any) -> Any:
        """Return the article, or raise ``DropItem``. Wait while a backend is unavailable."""
        if not isinstance(item, Article):
            return item
        # Two posts with the same text are two posts.
        item.content_hash = text_key(f"{item.url} {item.shown}" if item.form == "post" else item.shown)
        await self._copies.drop(item)
        return item


class CopyFilter:
    """Drops copies of stored articles, and pages that have not changed."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._removals, self._addresses = crawl.context, crawl.removals, AddressChoice(crawl)

    async def drop(self, item: Article) -> Article | None:
        """Set the article's canonical URL and return the article that is stored under this URL, or None.

        Raises ``DropItem`` for a copy or an unchanged page. Wait while a backend is unavailable.
        """
        outage, text = self._context.outage, (item.source, item.content_hash)
        owner = await outage.patiently_await(lambda: self._context.together.owner(text))
        return await outage.patiently(self._drop, item, owner)

    def _drop(self, item: Article, owner: str | None) -> Article | None:
        with self._context.timed("dedup_exact"):
            kept = self._addresses.choose(item)
            if kept is None and owner is not None:
                kept = self._addresses.choose(item)  # reads again, because the first answer may be outdated
            self._addresses.move_to_plain_url(item, kept)
            return self._judge(item, kept, owner)

    def _takes_over(self, item: Article, owner: str) -> bool:
        stored = self._context.storage.articles.get(owner)
        return stored is not None and self._addresses.takes_over(item, stored)

    def _judge(self, item: Article, kept: Article | None, owner: str | None) -> Article | None:
        if kept is not None and _has_less(item, kept):
            self._context.count("articles/unchanged")
            raise DropItem(Reason.UNCHANGED)
        if kept is not None:
            _keep_origin(kept, item)
        elif owner is not None and self._takes_over(item, owner):
            kept, owner = self._context.storage.articles.get(item.canonical_url), item.canonical_url
        if owner is not None and fingerprint(owner) != fingerprint(item.canonical_url):
            self._context.storage.articles.store(item)  # makes this address an alias of the stored article
            self._removals.stored(item)
            self._context.count("duplicates/text")
            self._context.count_site(item.source, "duplicates")
            raise DropItem(Reason.SAME_TEXT, f"as {owner}")
        if kept is not None and (_is_same(kept, item) if owner is not None else _is_trifle(kept, item)):
            if owner is not None and fingerprint(canonicalize(item.fetched_url)) != fingerprint(
                item.canonical_url
            ):
                self._context.storage.articles.store(item)  # makes this address an alias too
                self._removals.stored(item)
            if kept.rights != item.rights:  # a new reservation is stored, even if the text is unchanged
                self._context.storage.articles.save_rights(kept.canonical_url, item.rights)
            if kept.published_at is None and item.published_at is not None:
                # Meanwhile, other articles of the site have shown how to read the date.
                _take_date(kept, item)
                self._context.storage.articles.save_origin(kept)
            # The worker that stored the article may have been killed before it merged the stories.
            settle_again(self._context.storage, kept)
            self._context.count("articles/unchanged")
            raise DropItem(Reason.UNCHANGED)
        return kept


def _keep_origin(kept: Article, new: Article) -> None:
    """Copy the feed's data from the stored article to the new version, if the new version lacks them."""
    if kept.extraction.get("published_at") == FEED and new.published_at is None:
        _take_date(new, kept)
    if kept.extraction.get("authors") == FEED and not new.authors:
        new.authors, new.extraction["authors"] = kept.authors, FEED


def _take_date(article: Article, other: Article) -> None:
    """Copy the time of publication from another version of the article."""
    article.published_at, article.published_source = other.published_at, other.published_source
    article.published_precision = other.published_precision
    article.extraction["published_at"] = other.extraction.get("published_at", "")


def _has_less(new: Article, kept: Article) -> bool:
    """Return True if the text of a feed would replace that of the page, or a part the full text of a feed."""
    if kept.extraction.get("text") == FEED:
        return new.partial
    return new.extraction.get("text") == FEED and not kept.partial


def _is_trifle(kept: Article, new: Article) -> bool:
    """Return True for a trivial edit, which is not stored.

    The stored text is not replaced. Several trivial edits in a row are therefore compared with it as one
    edit.
    """
    if kept.story is None or (kept.partial and not new.partial):
        return False
    return not is_substantial((kept.title, kept.shown), (new.title, new.shown))


def _is_same(kept: Article, new: Article) -> bool:
    """Return True if text and title are the same as in the stored version.

    If a page returns to an earlier version, this counts as a change.
    """
    return (kept.content_hash, kept.title) == (new.content_hash, new.title) and kept.story is not None
