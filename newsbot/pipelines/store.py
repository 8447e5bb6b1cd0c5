"""Last pipeline: stores the article, or drops it if the same text is stored already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.failures import DropItem
from newsbot.dedup.index import signature
from newsbot.dedup.story_merge import reunite_around, settle
from newsbot.errors import DataError, RecordBusy
from newsbot.items import Article, Reason
from newsbot.pipelines.exact import CopyFilter
from newsbot.pipelines.near import PlacedArticle, StoryFinder
from newsbot.sites.pauses_and_removals import forget_texts, is_out
from newsbot.storage.articles import NOTHING, Stored, Verdict, is_settled, story_id

TRIES = 5
"""Maximum number of times that the URL is chosen again because another page was stored under it."""


class StorePipeline(Component):
    """Stores articles. If an article is neither new nor changed, it is dropped with the reason."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals
        self._copies, self._stories = CopyFilter(crawl), StoryFinder(crawl)

    async def process_item(self, item: Any) -> Any:
        """Return the stored article with its version, or raise ``DropItem``.

        Waits while a backend is unavailable.
        """
        if not isinstance(item, Article):
            return item
        over = NOTHING if item.is_archived else None
        stored = await self._store(item, over)
        # The else branch runs if the URL was taken at each try.
        for _ in range(TRIES):
            if stored.verdict is not Verdict.TAKEN:
                break
            item, kept = await self._look_again(item)
            stored = await self._store(item, over if over is not None or kept is None else kept.content_hash)
        else:
            raise RecordBusy(f"{item.canonical_url}: other workers keep storing other texts under this URL")
        self._removals.stored(item)
        item.version = stored.version
        if stored.joined is not None:
            item.story = stored.joined.story
        if stored.verdict is not Verdict.NEW or not await self._is_settled(item, stored):
            await self._context.outage.patiently(self._settle, item, stored)
        awaited = stored.joined is not None and stored.joined.awaited
        kept_apart = isinstance(item, PlacedArticle) and item.kept_apart
        if kept_apart or (stored.verdict is Verdict.NEW and awaited):
            await self._context.outage.patiently(
                reunite_around, self._context.storage, self._context.index, item, self._context.clock()
            )
        return self._tell(item.plain() if isinstance(item, PlacedArticle) else item, stored)

    def _tell(self, item: Article, stored: Stored) -> Article:
        if stored.verdict is Verdict.SAME_TEXT:
            self._context.count("duplicates/text")
            self._context.count_site(item.source, "duplicates")
            raise DropItem(Reason.SAME_TEXT, f"as {stored.canonical_url}")
        if stored.verdict is Verdict.UNCHANGED:
            self._context.count("articles/unchanged")
            raise DropItem(Reason.UNCHANGED)
        if item.form == "post":
            self._context.count(f"posts/{stored.verdict}")
            return item
        self._context.count(f"articles/{stored.verdict}")
        self._context.count_site(item.source, "articles" if stored.verdict is Verdict.NEW else "updated")
        self._context.books.last_article[item.source] = self._context.clock()
        return item

    async def _store(self, article: Article, over: str | None = None) -> Stored:
        """Store the article. Wait while a backend is unavailable."""
        peers, lost_answers = _peers(article), 0

        async def store() -> Stored:
            nonlocal lost_answers
            # A person may have removed the article while this worker waited.
            await self._context.calls.run(self._refuse_removed, article)
            try:
                return await self._context.together.store(article, over, peers)
            except DataError as error:
                # A busy record was certainly not written. After any other fault, the server may have stored
                # the article.
                lost_answers += not isinstance(error, RecordBusy)
                raise

        stored = await self._context.outage.patiently_await(store)
        if stored.verdict is Verdict.UNCHANGED and lost_answers:
            # An earlier try has stored the article, but the answer of the server was lost.
            return replace(stored, verdict=Verdict.NEW if stored.version == 1 else Verdict.UPDATED)
        return stored

    async def _look_again(self, article: Article) -> tuple[Article, Article | None]:
        """Choose the URL again, because the article of another page was stored under it in the meantime.

        Returns the article with its new place, and the article that is stored under the new URL, or None. In
        the index, each of the two texts may be under the URL of the other article, so both entries are
        written again.
        """
        before = article.canonical_url
        other = await self._context.outage.patiently(self._context.storage.articles.get, before)
        if other is not None:
            text = signature(other.text)
            await self._context.outage.patiently(
                self._context.index.check_and_insert,
                *(other.canonical_url, other.source, text, self._context.clock()),
            )
        kept = await self._copies.drop(article)
        return await self._stories.find(article), kept

    def _refuse_removed(self, article: Article) -> None:
        """Drop an article that a person removed after it was validated.

        Its text is also deleted from the near-duplicate index, to which it was added before this pipeline.
        """
        if is_out(article, self._removals.covers):
            forget_texts(self._context.index, [article.canonical_url], self._context.clock())
            self._context.count(f"dropped/{Reason.REMOVED}")
            raise DropItem(Reason.REMOVED)

    async def _is_settled(self, article: Article, stored: Stored) -> bool:
        """Return True if nothing is left to do for the story of a new article.

        If the article has peers, all of them must be stored. Otherwise, the story must not have been merged
        by another worker in the meantime.
        """
        url, story = article.canonical_url, article.story
        if stored.joined is not None or story is None:
            return stored.joined is not None and not stored.joined.missing
        stories = (story, story_id(url))
        current = self._context.together.stories
        return is_settled(*stories, await self._context.outage.patiently_await(lambda: current(stories)))

    def _settle(self, article: Article, stored: Stored) -> None:
        """Join the stories of the article and its peers.

        Other workers may have changed them in the meantime.
        """
        url = article.canonical_url
        with self._context.timed("store"):
            kept_as = stored.canonical_url if stored.verdict is Verdict.SAME_TEXT else None
            article.story = settle(self._context.storage, url, _peers(article), kept_as)


def _peers(article: Article) -> tuple[str, ...]:
    # Users may remove the pipeline that finds the peers.
    return article.peers if isinstance(article, PlacedArticle) else ()
