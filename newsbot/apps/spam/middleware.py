"""Judges the pages of a news crawl (NEWSBOT_SPAM) and of the spider ``monitor``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.apps.spam.command import KIND, MAX_PAGES, SITES, pages_of
from newsbot.apps.spam.judging import Spam, spam_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.errors import DataError, NotAnArticle
from newsbot.items import Article
from newsbot.middlewares import Middleware, content_type_of, tree_of
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)


class SpamMiddleware(Middleware):
    """Notes pages with a sign of spam. With ``drop``, their articles are left out."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._context = Crawl.of(crawler).context
        self._does = str(crawler.settings.get("NEWSBOT_SPAM") or "off")
        self._is_monitor = getattr(crawler.spidercls, "name", "") == "monitor"

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on what the spider yields, except for the article of a spam page if it is to be dropped."""
        found: Spam | None = None
        judged = self._is_monitor and self._is_page(response)
        if judged:
            found = await self._judge(response)
        async for output in result:
            # In a news crawl, only pages with an article are judged.
            if isinstance(output, Article) and self._does != "off" and not judged:
                judged, found = True, await self._judge(response)
            if isinstance(output, Article) and found is not None and self._does == "drop":
                visit: Visit | None = response.meta.get(META_KEY)
                if visit is not None:
                    visit.read(is_article=False, no_article="spam")
                self._context.count("not_article/spam")
                continue
            yield output
        if judged:
            await self._note(response, found)

    @staticmethod
    def _is_page(response: Response) -> bool:
        return response.status < 300 and bool(response.body) and "html" in content_type_of(response).lower()

    async def _judge(self, response: Response) -> Spam | None:
        with suppress(NotAnArticle):
            return await asyncio.to_thread(lambda: spam_of(tree_of(response), response.url))
        return None

    async def _note(self, response: Response, found: Spam | None) -> None:
        domain = self._context.rule_for(response.url).domain
        with suppress(DataError):  # the outage is logged already
            if await self._context.calls.run(self._keep, domain, canonicalize(response.url), found):
                assert found is not None
                self._context.count(f"spam/{found.sign}")
                logger.warning(
                    "spam domain=%s url=%s sign=%s (%s)", domain, response.url, found.sign, found.detail
                )

    def _keep(self, domain: str, url: str, found: Spam | None) -> bool:
        """Store or delete the note about a page. Return True if the page is spam."""
        notes = self._context.storage.notes
        if found is None:
            # Few pages have a note, and most sites have none.
            if notes.get_many([(KIND + domain, url)]):
                notes.forget(KIND + domain, url)
            return False
        if len(pages_of(notes, domain)) < MAX_PAGES:
            note = {"sign": found.sign, "detail": found.detail[:200], "at": self._context.clock()}
            notes.save(KIND + domain, url, note)
            notes.save(SITES, domain, {})
        return True
