"""Lists the figures of the dashboard that take long to compute.

Each figure is cached in a :class:`newsbot.web.cache.Memo`, with the age at which it is computed again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from newsbot.clock import Clock
from newsbot.search.articles import RisingTerm
from newsbot.web.cache import Memo
from newsbot.web.dashboard.articles import StoryRow, recent_stories
from newsbot.web.dashboard.news import TopEvent, rising_terms, top_events
from newsbot.web.dashboard.overview import Overview, Trouble, overview, troubles
from newsbot.web.dashboard.sites import SiteRow, all_sites
from newsbot.web.readers import Data, Readers


@dataclass(slots=True)
class Memos:
    """All cached figures of the process."""

    overview: Memo[Overview]
    articles: Memo[int]
    """The number of stored articles."""
    troubles: Memo[list[Trouble]]
    sites: Memo[list[SiteRow]]
    stories: Memo[list[StoryRow]]
    top: Memo[list[TopEvent]]
    rising: Memo[list[RisingTerm]]

    def all(self) -> list[Memo[Any]]:
        """Return all memos in the order of their first computation. One thread computes one after another."""
        return [self.overview, self.articles, self.troubles, self.sites, self.top, self.stories, self.rising]

    def warm(self) -> None:
        """Start to compute all figures in the background, so that the first page waits less."""
        for memo in self.all():
            memo.refresh()

    async def close(self) -> None:
        """Cancel running computations."""
        await asyncio.gather(*(memo.close() for memo in self.all()))


def make_memos(readers: Readers, clock: Clock) -> Memos:
    """Return the memos. ``readers`` should have threads of their own, because computations take long."""
    return Memos(
        overview=Memo(readers, overview, 10.0, clock=clock),
        articles=Memo(readers, _articles, 60.0, clock=clock),
        troubles=Memo(readers, troubles, 30.0, clock=clock),
        sites=Memo(readers, all_sites, 60.0, clock=clock),
        stories=Memo(readers, recent_stories, 120.0, clock=clock),
        top=Memo(readers, top_events, 60.0, clock=clock),
        rising=Memo(readers, rising_terms, 600.0, clock=clock),
    )


def _articles(data: Data) -> int:
    return data.storage.articles.count()
