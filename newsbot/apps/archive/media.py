"""Archives the pictures, audio and video of new and changed articles (setting NEWSBOT_WARC_MEDIA).

The files are requested within the visit of their page, one after the other: robots.txt, the turns of the host
and the address guard apply. Pages that say ``noarchive`` are left out with their files.
"""

from __future__ import annotations

import logging
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from newsbot.config.settings import value_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_for
from newsbot.crawl.visit import META_KEY, PART_KEY, RULE_KEY, Visit, keep_page
from newsbot.errors import DataError
from newsbot.items import Article, Bounded
from newsbot.middlewares import Middleware, content_type_of

logger = logging.getLogger(__name__)

MAX_FILES = 10
"""Maximum number of files of one article."""
MAX_KNOWN = 50_000
"""Maximum number of files that a worker remembers, so that a new version does not archive them again."""
_TYPES = ("image/", "audio/", "video/", "application/octet-stream", "binary/octet-stream", "application/ogg")
"""Types of responses that are archived. Many servers send audio files as octets without a type."""


class MediaFiles(Middleware):
    """Requests and archives the files of articles after they are stored."""

    def __init__(self, crawler: Crawler) -> None:
        self._most = int(value_of(crawler.settings, "NEWSBOT_WARC_MEDIA")) * 10**6
        if not self._most:
            raise NotConfigured
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals
        self._known = Bounded[str, None](MAX_KNOWN)
        crawler.signals.connect(self._stored, signals.item_scraped)

    async def _stored(self, item: Any, response: Response) -> None:
        visit: Visit | None = response.meta.get(META_KEY)
        if not isinstance(item, Article) or visit is None or not visit.reading.rights.archive:
            return
        # The video of a post is its own page.
        for url in [one["url"] for one in item.media if one["url"] != item.url][:MAX_FILES]:
            if self._context.archive is None or self._context.outage.ending():
                return
            if url not in self._known:
                self._known.add(url)
                await self._keep(url, visit)

    async def _keep(self, url: str, visit: Visit) -> None:
        meta = {RULE_KEY: visit.rule, PART_KEY: visit.url, "download_maxsize": self._most}
        try:
            response = await self.download(url, meta=meta)
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001  (the article is stored in any case)
            self._context.count(f"archive/media/{cause_for(url, error)}")
            return
        kind = content_type_of(response).lower()
        if response.status != 200 or not kind.startswith(_TYPES) or kind.startswith("image/svg"):
            self._context.count("archive/media/other_type")
            return
        await keep_page(self._context, self._removals, response)
        self._context.count("archive/media/kept")
