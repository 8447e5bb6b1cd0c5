"""Last pipeline: storage keeps the article, or says that it has it already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawl.context import CrawlState
from newsbot.dedup.minhash import signature
from newsbot.dedup.story_merge import join, settle
from newsbot.errors import DataError, RecordBusy
from newsbot.items import Article
from newsbot.pipelines.exact import drop_copy
from newsbot.pipelines.near import find_story
from newsbot.sites.late_arrivals import forget_texts, is_out
from newsbot.sites.removals import REMOVED
from newsbot.storage.articles import Stored, Verdict, of_one_page

TRIES = 5
"""Times that another page may be stored under the article's URL while it is looked at."""


class StorePipeline:
    """Stores; what was not new is dropped with its reason."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the stored article with its version, or raise ``DropItem``; wait while the data are away."""
        if not isinstance(item, Article):
            return item
        state = CrawlState.of(self.crawler)
        stored = await _store(state, item)
        for _ in range(TRIES):
            if stored.verdict is not Verdict.TAKEN:
                break
            kept = await _look_again(state, item)
            stored = await _store(state, item, None if kept is None else kept.content_hash)
        else:
            raise RecordBusy(f"{item.canonical_url}: others store other texts under this URL all the time")
        state.latecomers.stored(item)
        item.version = stored.version
        await state.outage.patiently(_settle, state, item, stored)
        return self._tell(state, item, stored)

    @staticmethod
    def _tell(state: CrawlState, item: Article, stored: Stored) -> Article:
        if stored.verdict is Verdict.SAME_TEXT:
            state.count("duplicates/text")
            state.count_site(item.source, "duplicates")
            raise DropItem(f"same_text as {stored.canonical_url}")
        if stored.verdict is Verdict.UNCHANGED:
            state.count("articles/unchanged")
            raise DropItem("unchanged")
        state.count(f"articles/{stored.verdict}")
        state.count_site(item.source, "articles" if stored.verdict is Verdict.NEW else "updated")
        state.books.last_article[item.source] = state.clock()
        return item


async def _store(state: CrawlState, article: Article, over: str | None = None) -> Stored:
    """Store, and wait while the data are away."""
    await state.outage.patiently(_bridge, state, article, over)
    lost_answers = 0

    async def store() -> Stored:
        nonlocal lost_answers
        _refuse_removed(state, article)  # it may have waited for long
        try:
            return await state.store(article, over)
        except DataError as error:
            lost_answers += not isinstance(error, RecordBusy)
            raise

    stored = await state.outage.patiently_await(store)
    if stored.verdict is Verdict.UNCHANGED and lost_answers:
        # it was kept by the try whose answer was lost
        return replace(stored, verdict=Verdict.NEW if stored.version == 1 else Verdict.UPDATED)
    return stored


async def _look_again(state: CrawlState, article: Article) -> Article | None:
    """Choose the URL anew: another page was kept under it. Return what is kept under the one chosen.

    The index may have the text of either under the URL of the other: each is put where it belongs.
    """
    before = article.canonical_url
    other = await state.outage.patiently(state.storage.articles.get, before)
    if other is not None:
        text = signature(other.text)
        await state.outage.patiently(
            state.index.check_and_insert, other.canonical_url, other.source, text, state.clock()
        )
    state.peers.pop(before, None)
    kept = await state.outage.patiently(drop_copy, state, article)
    await find_story(state, article)
    return kept


def _bridge(state: CrawlState, article: Article, over: str | None) -> None:
    """Make one story of those that the article belongs to, before it is stored.

    Afterwards its page counts as unchanged, and after a kill nobody asks about its peers again. Its own id
    takes no part yet, for another page's article may be under way to this URL; one that it replaces does
    (``over``: the text of that one, if another page gave it).
    """
    placed = state.peers.get(article.canonical_url)
    if placed is None:
        return
    with state.timed("store"):
        before = state.storage.articles.get(article.canonical_url)
        if before is not None and before.content_hash != over and not of_one_page(before.url, article.url):
            before = None
        if before is not None and before.story != placed.story:
            article.story = join(state.storage, [before.canonical_url, *placed.peers])
        elif placed.apart:
            article.story = join(state.storage, placed.peers)


def _refuse_removed(state: CrawlState, article: Article) -> None:
    """Drop what was taken out since it was looked at first; its text is in the index by now."""
    if is_out(article, state.is_removed):
        forget_texts(state.index, [article.canonical_url], state.clock())
        state.peers.pop(article.canonical_url, None)
        state.count(f"dropped/{REMOVED}")
        raise DropItem(REMOVED)


def _settle(state: CrawlState, article: Article, stored: Stored) -> None:
    """Bring the article and those that resemble it into one story; others may have met them meanwhile."""
    url = article.canonical_url
    placed = state.peers.get(url)
    peers = placed.peers if placed else ()
    with state.timed("store"):
        if stored.verdict is Verdict.SAME_TEXT:
            settle(state.storage, url, peers, stored.canonical_url)
        else:
            article.story = settle(state.storage, url, peers)
    state.peers.pop(url, None)
