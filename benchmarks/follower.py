"""newsbot's scheduler and Redis frontier with a spider that follows links, and a storage that keeps nothing.

    python -m benchmarks.follower START_URLS_FILE      (REDIS_URL in the environment)

Beside ``benchmarks.rival follow`` it shows what the scheduler alone costs. What stays of newsbot in it: links
are named and judged, a visit is settled and planned, its lease is acknowledged; scrapy-redis does none of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
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
from newsbot.items import Kind, Link, Where
from newsbot.storage.base import REPOSITORIES, Storage


class NothingKept(Storage):
    """As much of a storage as the scheduler asks for."""

    place = "nowhere"
    is_local = True

    def __init__(self) -> None:
        for name in REPOSITORIES:
            setattr(self, name, _Nothing(name))

    def close(self) -> None:
        """Nothing is open."""


class _Nothing:
    """A repository that keeps nothing and knows nothing."""

    def __init__(self, name: str) -> None:
        self._answers: dict[str, Any] = {
            "get": {},
            "iter": (),
            "due": (),
            "count": 0,
            "all": [] if name == "sources" else {},
            "swap": True,
        }

    def __getattr__(self, name: str) -> Any:
        answer = self._answers.get(name)
        return lambda *_, **__: iter(answer) if answer == () else answer


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
    backends.open_storage = lambda _, **__: NothingKept()
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
