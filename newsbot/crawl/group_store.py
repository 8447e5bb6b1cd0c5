"""Stores new articles in groups, because a transaction on a server takes most of its time at the end."""

from __future__ import annotations

import asyncio
from typing import cast

from newsbot.crawl.availability import Guarded
from newsbot.items import Article
from newsbot.storage.article_decision import Stored

LARGEST = 32
"""Maximum number of articles in a group."""
_Answer = asyncio.Future[Stored | None]


class GroupStore:
    """Stores the articles of one crawl on a server.

    An article is stored at once if no group is being stored. The articles that arrive while a group is being
    stored form the next group. An article that is not plainly new, or whose group met a conflict, is stored
    alone, and other articles do not wait for it.
    """

    def __init__(self, articles: Guarded) -> None:
        self._articles = articles
        self._waiting: list[tuple[Article, _Answer]] = []
        self._work: asyncio.Task[None] | None = None

    async def store(self, article: Article, over: str | None = None) -> Stored:
        """Store an article; see :meth:`newsbot.storage.articles.Articles.store`.

        If the server fails, each article of the group raises the error.
        """
        new = None
        if over is None:  # otherwise the URL is known
            answer: _Answer = asyncio.get_running_loop().create_future()
            self._waiting.append((article, answer))
            if self._work is None:
                self._work = asyncio.create_task(self._store_groups())
            new = await answer
        return new or cast("Stored", await self._articles.in_thread("store", article, over))

    async def _store_groups(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
                await self._store_group(group)
        finally:
            self._work = None

    async def _store_group(self, group: list[tuple[Article, _Answer]]) -> None:
        try:
            found = await self._articles.in_thread("store_new", [article for article, _ in group])
        except Exception as error:  # noqa: BLE001 - each caller gets it
            for _, answer in group:
                if not answer.done():  # a caller may have been cancelled
                    answer.set_exception(error)
        else:
            for (_, answer), stored in zip(group, found, strict=True):
                if not answer.done():
                    answer.set_result(stored)
