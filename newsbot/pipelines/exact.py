"""Third pipeline: the same text under another address of the site, or an unchanged page, goes no further."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawl.context import CrawlState
from newsbot.dedup.minhash import text_key
from newsbot.dedup.story_merge import settle
from newsbot.extraction import is_substantial
from newsbot.items import Article
from newsbot.pipelines.address import choose_address
from newsbot.urls import canonicalize, fingerprint


class ExactDuplicatePipeline:
    """Fills ``content_hash``; drops copies before the costlier steps. Storage's unique indexes decide."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ExactDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the article, or raise ``DropItem``; wait while the data are away."""
        if not isinstance(item, Article):
            return item
        state = CrawlState.of(self.crawler)
        await state.outage.patiently(self._check, state, item)
        return item

    @staticmethod
    def _check(state: CrawlState, item: Article) -> None:
        with state.timed("dedup_exact"):
            item.content_hash = text_key(item.text)
            if state.lessons.read_text(item.source, canonicalize(item.url), item.content_hash):
                state.take_rules(state.rules)
            drop_copy(state, item)


def drop_copy(state: CrawlState, item: Article) -> Article | None:
    """Settle the article's URL; return what is kept under it. Raise ``DropItem`` for a copy.

    Raises :class:`newsbot.errors.DataError`; may then be called again.
    """
    kept = choose_address(state, item)
    owner = state.storage.texts.owner(item.source, item.content_hash)
    if owner is not None and fingerprint(owner) != fingerprint(item.canonical_url):
        state.storage.articles.store(item)  # records this address beside the owner's
        state.latecomers.stored(item)
        state.count("duplicates/text")
        state.count_site(item.source, "duplicates")
        raise DropItem(f"same_text as {owner}")
    if kept is not None and (_is_same(kept, item) if owner is not None else _is_trifle(kept, item)):
        if owner is not None and fingerprint(canonicalize(item.url)) != fingerprint(item.canonical_url):
            state.storage.articles.store(item)  # records this address
            state.latecomers.stored(item)
        if kept.rights != item.rights:  # a reservation holds from now on, also for an unchanged text
            state.storage.articles.save_rights(kept.canonical_url, item.rights)
        settle(state.storage, kept.canonical_url, ())  # who stored it may have been killed before
        state.count("articles/unchanged")
        raise DropItem("unchanged")
    return kept


def _is_trifle(kept: Article, new: Article) -> bool:
    """Return True for an edit without substance; small ones add up, for the kept text stays what it is."""
    if kept.story is None or (kept.partial and not new.partial):
        return False
    return not is_substantial((kept.title, kept.text), (new.title, new.text))


def _is_same(kept: Article, new: Article) -> bool:
    """Return True if nothing changed; a text that the page had before its present one is a change."""
    return (kept.content_hash, kept.title) == (new.content_hash, new.title) and kept.story is not None
