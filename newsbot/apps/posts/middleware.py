"""Makes articles of the posts of a source, and reads the older parts of the source that are new, too.

A part is read if nothing in the part before it was known or older than the last visit, and at most
:data:`MAX_PARTS` are read in one visit. All are requested within the visit of the source:
robots.txt, the turns of the host and the address guard apply.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.apps.posts.readers import SENSITIVE, Post, PostFeed, title_of
from newsbot.config.settings import value_of
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.failures import cause_for, cause_of_status, text_of
from newsbot.crawl.visit import META_KEY, PART_KEY, RULE_KEY, Found, Visit
from newsbot.errors import DataError
from newsbot.items import Article, EventKind, Kind, Link, Where
from newsbot.middlewares import Middleware, content_type_of, retry_after
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import SourceError
from newsbot.pages.discovery.reader import read_source, readers_like
from newsbot.pages.rights import page_rights
from newsbot.pages.text.languages import detect
from newsbot.ranking.judging import Judgement
from newsbot.sites.rights import headers_of
from newsbot.urls import canonicalize, fingerprint, host_key, site_of

MAX_PARTS = 5
"""Maximum number of answers with posts that are read in one visit of a source."""
MAX_STEPS = MAX_PARTS + 2
"""Maximum number of requests after the first one. The address of the posts may take two."""


class PostsMiddleware(Middleware):
    """Yields the posts of each :class:`PostFeed` that a spider yields."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals, self._rights = crawl.context, crawl.removals, crawl.sites.rights
        self._obeys_noindex = crawler.settings.getbool("NEWSBOT_OBEY_NOINDEX")
        self._least = int(value_of(crawler.settings, "NEWSBOT_POST_LENGTH"))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Yield the articles of posts. Yield everything else unchanged."""
        visit: Visit | None = response.meta.get(META_KEY)
        async for output in result:
            if visit is not None and isinstance(output, Found) and isinstance(output.feed, PostFeed):
                async for article in self._articles(output.feed, response, visit):
                    yield article
            yield output

    async def _articles(self, feed: PostFeed, response: Response, visit: Visit) -> AsyncIterator[Article]:
        run, parts = self._context.calls.run, 0
        for _ in range(MAX_STEPS):
            signals = await run(self._rights.signals, response.url)
            rights = page_rights(headers_of(response), None, signals, response.url)
            if self._obeys_noindex and not rights.index:
                visit.note(self._context.clock(), EventKind.UNREADABLE, cause="noindex")
                return
            articles = await asyncio.to_thread(self._made, feed.posts, response.url, visit, rights.signals)
            new, known = await run(self._unknown, articles, visit)
            for article in new:
                yield article
            parts += bool(feed.rows)
            ends = feed.next_url is None or known or parts >= MAX_PARTS or _is_read(feed, visit)
            if feed.next_url is None or ends or self._context.outage.ending():
                return
            # The first answer does not tell whether there are new posts, so it is always read again.
            visit.reads_again = True
            found = await self._next(feed.next_url, visit, is_first=not parts)
            if found is None:
                return
            feed, response = found

    async def _next(self, url: str, visit: Visit, *, is_first: bool) -> tuple[PostFeed, Response] | None:
        """Return the next part of a source. A failure to get the first part is the result of the visit."""
        cause, text = "", ""
        try:
            response = await self.download(
                url, meta={RULE_KEY: visit.rule, PART_KEY: visit.url, "dont_redirect": False}
            )
            if response.status == 200:
                readers = readers_like(self._context.readers, visit.kind)
                kind = content_type_of(response)
                feed = await asyncio.to_thread(
                    read_source, readers, response.body, response.url, kind, SiteDates()
                )
                if isinstance(feed, PostFeed):
                    return feed, response
            cause = cause_of_status(response.status) if response.status != 200 else "feed_not_a_feed"
            visit.read(retry_after=retry_after(response, self._context.clock()))
        except DataError:
            raise
        except SourceError as error:
            cause = f"feed_{error.reason}"
        except Exception as error:  # noqa: BLE001  (the posts that were read before are kept)
            cause, text = cause_for(url, error), text_of(error)
        if is_first:
            visit.read(error=cause)
            visit.note(self._context.clock(), EventKind.NO_PAGE, cause=cause, text=text[:200])
            self._context.count_error(visit.rule.domain, cause)
        return None

    def _made(
        self, posts: Sequence[Post], url: str, visit: Visit, signals: Mapping[str, str]
    ) -> list[Article]:
        """Return the articles of posts. A source speaks only for addresses of its own site."""
        sites = {site_of(host_key(one)) for one in (url, visit.lease.entry.url)}
        found: dict[str, Article] = {}
        for post in posts:
            if len(post.text) < self._least:
                self._context.count("posts/too_short")
                continue
            try:
                article = self._article(post, visit)
                if site_of(host_key(post.url)) not in sites:
                    raise ValueError("the address of another site")
            except ValueError:
                self._context.count("posts/bad_url")
                continue
            article.rights = dict(signals)
            found.setdefault(article.canonical_url, article)
        return list(found.values())

    def _article(self, post: Post, visit: Visit) -> Article:
        now = self._context.now()
        language = post.language or detect(post.text, visit.rule.language)
        return Article(
            url=post.url,
            canonical_url=canonicalize(post.url, visit.rule.drop_query),
            source=visit.rule.domain,
            title=post.title or title_of(post.text),
            text=post.text,
            authors=[post.author] if post.author else [],
            published_at=post.published_at,
            published_source="post" if post.published_at else None,
            published_precision="second" if post.published_at else None,
            modified_at=post.modified_at,
            language=language,
            tags=[*post.tags, *([SENSITIVE] if post.sensitive else [])],
            form="post",
            media=list(post.media),
            discovered_at=now,
            fetched_at=now,
            extraction={"text": "post", "title": "post" if post.title else "first line"},
        )

    def _unknown(self, articles: Sequence[Article], visit: Visit) -> tuple[list[Article], int]:
        """Return the posts that are new or edited, and the number of known posts. Record the new ones."""
        context = self._context
        keys = {fingerprint(one.canonical_url): one for one in articles}
        kept = context.storage.articles.with_keys(list(keys))
        new = [one for key, one in keys.items() if key not in kept]
        edited = [
            one
            for key, one in keys.items()
            if key in kept
            # A page that was read as an article stays one.
            and (kept[key].form, kept[key].source) == ("post", one.source)
            and (kept[key].title, kept[key].text) != (one.title, one.text)
        ]
        self._record(new, visit)
        return [*new, *edited], len(kept)

    def _record(self, articles: Sequence[Article], visit: Visit) -> None:
        """Record the pages of posts as done, so that they are not fetched."""
        now = self._context.clock()
        judgement = Judgement(kind=Kind.ARTICLE, priority=0.0, accepted=True, reason=Where.FEED.value)
        make = partial(entry_for, rule=visit.rule, judgement=judgement, depth=1, now=now)
        links = [
            Link(url=one.url, where=Where.FEED, kind=Kind.ARTICLE, published_at=one.published_at)
            for one in articles
        ]
        entries = [make(link, referrer=visit.lease.entry.url) for link in links]
        entries = [one for one in entries if not self._removals.covers(one.fingerprint, one.host)]
        pages = [page_for(one, now) for one in entries]
        for page in pages:
            page.state, page.last_fetched = "done", now
        if pages:
            # The storage is written first, so that the frontier never knows a page without a record.
            self._context.storage.pages.discover(pages)
            self._context.frontier.mark_done(entries, None)


def _is_read(feed: PostFeed, visit: Visit) -> bool:
    """Return True if the last visit has read the oldest post of a part."""
    before = None if visit.record is None else visit.record.last_full_fetch
    return before is not None and feed.oldest is not None and feed.oldest.timestamp() < before
