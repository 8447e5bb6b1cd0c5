"""newsbot's scheduler and Redis frontier with a spider that follows links, and a storage that keeps nothing.

    python -m benchmarks.follower START_URLS_FILE      (REDIS_URL in the environment)

Beside ``benchmarks.rival follow`` it shows what the scheduler alone costs. What stays of newsbot in it: links
are named and judged, a visit is settled and planned, its lease is acknowledged; scrapy-redis does none of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings

from benchmarks.rival import LINK
from newsbot import backends
from newsbot import settings as newsbot_settings
from newsbot.crawl.arguments import Arguments
from newsbot.crawl.visit import Found
from newsbot.items import Kind, Link, PageRecord, Where
from newsbot.storage.sources import SiteRecord, SourceRecord


class NothingKept:
    """As much of a storage as the scheduler asks for."""

    def discover(self, pages: Sequence[PageRecord]) -> None:
        """Keep nothing."""

    def pages(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """Know nothing."""
        del fingerprints
        return {}

    def save_pages(self, pages: Sequence[PageRecord]) -> None:
        """Keep nothing."""

    def iter_pages(self, **_: Any) -> Iterator[PageRecord]:
        """Know nothing."""
        return iter(())

    def due_pages(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """Know nothing."""
        del after, until
        return iter(())

    def sources(self, source: str | None = None) -> list[SourceRecord]:
        """Know nothing."""
        del source
        return []

    def save_sources(self, records: Iterable[SourceRecord]) -> None:
        """Keep nothing."""

    def count_site(self, record: SiteRecord) -> None:
        """Keep nothing."""

    def add_activity(self, at: float, sites: Any) -> None:
        """Keep nothing."""

    def count_articles(self, wanted: Any) -> int:
        """Know nothing."""
        del wanted
        return 0

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """Know nothing."""
        del kind
        return {}

    def save_note(self, kind: str, key: str, note: Any) -> None:
        """Keep nothing."""

    def swap_note(self, kind: str, key: str, old: Any, new: Any) -> bool:
        """Keep nothing, and say that nobody else had written."""
        del kind, key, old, new
        return True

    def close(self) -> None:
        """Nothing is open."""


class Follow(Spider):
    """Follows every link."""

    name = "follow"
    arguments = Arguments()

    def __init__(self, starts: list[str], **more: Any) -> None:
        super().__init__(**more)
        self.starts = starts

    async def start(self) -> AsyncIterator[Any]:
        """Yield what the crawl begins with."""
        yield Found(links=_links(self.starts, Where.ARGUMENT), referrer=None, depth=0)

    def parse(self, response: Response, **_: Any) -> Iterator[Found]:
        """Yield what the page links to."""
        urls = LINK.findall(response.text)
        if urls:
            yield Found(links=_links(urls, Where.FEED), referrer=response.url, depth=1)


def _links(urls: Iterable[str], where: Where) -> tuple[Link, ...]:
    return tuple(Link(url=url, where=where, kind=Kind.ARTICLE) for url in urls)


def main() -> None:
    """Work until all is done."""
    backends.open_storage = lambda _, **__: NothingKept()  # type: ignore[assignment]
    settings = Settings()
    settings.setmodule(newsbot_settings)
    concurrency = int(os.environ.get("CONCURRENCY", "32"))
    settings.setdict(
        {
            "ITEM_PIPELINES": {},
            "NEWSBOT_PROGRESS": False,
            "LOG_LEVEL": "ERROR",
            "CONCURRENT_REQUESTS": concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
            "NEWSBOT_STATS_FILE": os.environ.get("STATS_FILE", ""),
        },
        priority="cmdline",
    )
    process = CrawlerProcess(settings)
    process.crawl(Follow, starts=Path(sys.argv[1]).read_text(encoding="utf8").split())
    process.start()


if __name__ == "__main__":
    main()
