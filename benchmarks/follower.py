"""newsbot's scheduler and Redis frontier with a spider that follows links, without a storage.

    python -m benchmarks.follower START_URLS_FILE      (REDIS_URL in the environment)

A comparison with ``benchmarks.rival follow`` shows the cost of the scheduler alone. newsbot also judges
links, plans visits and acknowledges leases, which scrapy-redis does not do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings

from benchmarks.rival import LINK
from newsbot import backends
from newsbot import settings as newsbot_settings
from newsbot.crawl.components import COMPONENTS, NewsbotSpider
from newsbot.crawl.scope import Arguments
from newsbot.crawl.visit import Found
from newsbot.items import Kind, Link, Where
from newsbot.storage.base import REPOSITORIES, Storage


class NothingKept(Storage):
    """The part of a storage that the scheduler needs; it stores nothing."""

    place = "nowhere"
    is_local = True

    def __init__(self) -> None:
        for name in REPOSITORIES:
            setattr(self, name, _Nothing(name))

    def close(self) -> None:
        """Do nothing."""


class _Nothing:
    """A repository that stores and finds nothing."""

    def __init__(self, name: str) -> None:
        self._answers: dict[str, Any] = {
            "get": {},
            "get_many": {},
            "with_keys": {},
            "iter": (),
            "due": (),
            "count": 0,
            "all": [] if name == "sources" else {},
            "swap": True,
        }

    def __getattr__(self, name: str) -> Any:
        if name == "swap_many":
            return lambda swaps: [True] * len(swaps)
        answer = self._answers.get(name)
        return lambda *_, **__: iter(answer) if answer == () else answer


class Follow(NewsbotSpider):
    """A spider that follows every link."""

    name = "follow"
    components = MappingProxyType({**COMPONENTS, "ITEM_PIPELINES": {}})
    arguments = Arguments()

    def __init__(self, starts: list[str], **more: Any) -> None:
        super().__init__(**more)
        self.starts = starts

    async def start(self) -> AsyncIterator[Any]:
        """Yield the start requests."""
        yield Found(links=_links(self.starts, Where.ARGUMENT), referrer=None, depth=0)

    def parse(self, response: Response, **_: Any) -> Iterator[Found]:
        """Yield the links of the page."""
        urls = LINK.findall(response.text)
        if urls:
            yield Found(links=_links(urls, Where.FEED), referrer=response.url, depth=1)


def _links(urls: Iterable[str], where: Where) -> tuple[Link, ...]:
    return tuple(Link(url=url, where=where, kind=Kind.ARTICLE) for url in urls)


def main() -> None:
    """Crawl until all work is done."""
    backends.open_storage = lambda _, **__: NothingKept()
    settings = Settings()
    settings.setmodule(newsbot_settings)
    concurrency = int(os.environ.get("CONCURRENCY", "32"))
    settings.setdict(
        {
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
