"""A typical scrapy-redis worker, with which newsbot is compared.

    python -m benchmarks.rival follow|articles|trafilatura|note      (REDIS_URL, MONGO_URI in the environment)

``follow`` only follows links. ``note`` writes down the pages it read. ``articles`` reads feeds, extracts each
article with newsbot's own extraction and stores it in MongoDB, with an upsert that waits for the journal of a
majority. ``trafilatura`` does the same with the extraction of trafilatura.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy_redis.spiders import RedisSpider

from newsbot.apps.mongodb.client import to_document
from newsbot.items import Article
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.pages.extraction import extract

LINK = re.compile(r'href="(http://[^"]+)"')
SETTINGS: dict[str, Any] = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": True,
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue",
    "CONCURRENT_REQUESTS": int(os.environ.get("CONCURRENCY", "32")),
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(os.environ.get("CONCURRENCY", "32")),
    "DOWNLOAD_DELAY": float(os.environ.get("DELAY", "0")),
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "ROBOTSTXT_OBEY": True,
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOG_LEVEL": "ERROR",
}


class Follow(RedisSpider):
    """A spider that follows every link."""

    name = "follow"
    redis_key = "start"

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:
        """Yield requests for the links of the page."""
        for url in LINK.findall(response.text):
            yield Request(url)


class Note(RedisSpider):
    """A spider that appends the URL of each page it read to the file READ_FILE."""

    name = "note"
    redis_key = "start"

    def parse(self, response: Response, **_: Any) -> None:
        """Write the line immediately, so that it is not lost if the process is killed later."""
        with Path(os.environ["READ_FILE"]).open("a", encoding="utf8") as read:
            read.write(response.url + "\n")


class Articles(RedisSpider):
    """A spider that reads feeds and their articles."""

    name = "articles"
    redis_key = "start"

    def parse(self, response: Response, **_: Any) -> Iterator[Request | Article]:
        """Yield requests for the articles of a feed, or the article of a page."""
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        if response.url.endswith(".xml"):
            for link in parse_feed(response.body, response.url, content_type).links:
                yield Request(link.url)
        else:
            article = extract(response.body, response.url)
            if article is not None:
                yield article


class Trafilatura(Articles):
    """The same with the extraction of trafilatura."""

    name = "trafilatura"

    def __init__(self, **given: Any) -> None:
        """Import the extraction, which takes long."""
        from trafilatura import bare_extraction  # noqa: PLC0415 - in benchmarks/requirements.txt only

        super().__init__(**given)
        self._extract = bare_extraction

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Yield requests for the articles of a feed, or the fields of an article."""
        if response.url.endswith(".xml"):
            yield from super().parse(response)
            return
        found = self._extract(response.body, url=response.url, with_metadata=True)
        if found is not None:
            fields = ("url", "title", "author", "date", "text", "sitename", "language", "image")
            yield {"_id": response.url} | {name: getattr(found, name) for name in fields}


class MongoPipeline:
    """Stores articles in MongoDB, one document per URL."""

    def open_spider(self) -> None:
        """Connect."""
        client = MongoClient[dict[str, Any]](os.environ["MONGO_URI"], w="majority", journal=True)
        self.articles = client["rival"]["articles"]

    def process_item(self, item: Any) -> Any:
        """Insert or update the article."""
        document = to_document(item) if isinstance(item, Article) else dict(item)
        self.articles.update_one({"_id": document.pop("_id")}, {"$set": document}, upsert=True)
        return item


SPIDERS = {spider.name: spider for spider in (Follow, Articles, Trafilatura, Note)}


def main(job: str) -> None:
    """Run the spider until there is no more work."""
    more: dict[str, Any] = {"REDIS_URL": os.environ["REDIS_URL"]}
    if job in ("articles", "trafilatura"):
        more["ITEM_PIPELINES"] = {MongoPipeline: 100}
    process = CrawlerProcess(SETTINGS | more)
    process.crawl(SPIDERS[job])
    process.start()


if __name__ == "__main__":
    main(sys.argv[1])
