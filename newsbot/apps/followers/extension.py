"""Runs the followers of all apps while a news crawl runs."""

from __future__ import annotations

from functools import partial

from scrapy import Spider

from newsbot.apps.followers.following import FollowerThread
from newsbot.crawl.assembly import Crawl
from newsbot.extensions import Extension
from newsbot.spiders.news import NewsSpider


class Followers(Extension):
    """Gives the changes of articles to the followers. At its end, a crawl gives them the rest."""

    def spider_opened(self, spider: Spider) -> None:
        """Start the followers, if this is a news crawl that stores articles."""
        crawl = Crawl.of(self.crawler)
        if not isinstance(spider, NewsSpider) or crawl.scope.arguments.dry_run or not crawl.context.is_open:
            return
        thread = FollowerThread(self.crawler.settings)
        thread.start()
        # The last article is stored when before_close is called. The reactor runs while the thread finishes.
        finish = partial(thread.stop, finish=True)
        crawl.before_close.append(partial(crawl.context.calls.aside, finish, local=False))
