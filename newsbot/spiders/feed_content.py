"""Reads an article in the feed that names it, if its page is refused or has only a part of the text.

Some feeds have the full text of their items, while the server refuses the pages (401, 402, 403) or shows only
their beginning. If the hub of the feed has sent the text (:mod:`newsbot.sites.pushed_texts`), this text is
used. Otherwise the feed is fetched once more, within the visit of the page. Its texts are kept for the other
pages of the feed. A feed whose pages can be read costs nothing. The page is visited again as planned, and its
text replaces that of the feed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from html import escape

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.links.feed_details import FEED
from newsbot.crawl.visit import RULE_KEY, Visit
from newsbot.errors import NotAnArticle
from newsbot.items import Article, Bounded, GivenBy, Where
from newsbot.middlewares import content_type_of
from newsbot.pages.discovery.feeds import item_contents
from newsbot.pages.extraction import read_page
from newsbot.pages.rights import page_rights
from newsbot.sites.pushed_texts import pushed_text
from newsbot.sites.rights import headers_of
from newsbot.urls import canonicalize, fingerprint

REFUSALS = (401, 402, 403)
"""Statuses of pages whose text may be in the feed."""
_KEPT = 600.0
"""Number of seconds for which the texts of a feed are used."""
_MOST = 32_000_000
"""Maximum number of characters of the texts that are kept."""
_MAX_FEEDS = 1_000
_Texts = Mapping[bytes, str]
"""The texts of a feed as HTML, by the fingerprint of their page; empty if the feed cannot be read."""


class FeedContent:
    """Makes articles of the full texts in feeds."""

    def __init__(self, crawl: Crawl, engine: ExecutionEngine, *, obeys_noindex: bool) -> None:
        self._context, self._engine, self._obeys_noindex = crawl.context, engine, obeys_noindex
        self._rights = crawl.sites.rights
        self._feeds = Bounded[str, tuple[float, asyncio.Future[_Texts]]](_MAX_FEEDS)
        """Time of the request in monotonic seconds, and the texts, by URL of the feed."""

    async def instead_of(self, response: Response, visit: Visit) -> Article | None:
        """Return the article of a refused page, or None if the site's feed does not have its text.

        The rights that the site and the refusal state hold.
        """
        signals = await self._context.calls.run(self._rights.signals, response.url)
        rights = page_rights(headers_of(response), None, signals, response.url)
        if self._obeys_noindex and not rights.index:
            return None
        article = await self._read(visit)
        if article is not None:
            visit.read(rights=rights)
        return article

    async def completed(self, article: Article, visit: Visit) -> Article:
        """Return ``article``, with the text of the site's feed if this text is longer."""
        whole = await self._read(visit)
        if whole is None or len(whole.text) <= len(article.text):
            return article
        whole.rights, whole.canonical_url = article.rights, article.canonical_url
        whole.fetched_at, whole.discovered_at = article.fetched_at, article.discovered_at
        return whole

    async def _read(self, visit: Visit) -> Article | None:
        feed = visit.data.get("referrer")
        named = visit.data.get("where") == Where.FEED and GivenBy.of(visit.data).counts_for(visit.rule.domain)
        if not feed or not named or self._context.outage.ending():
            return None
        text = await self._context.calls.run(self._pushed, visit)
        if text is None:
            texts = await self._texts_of(feed, visit)
            text = texts.get(visit.lease.entry.fingerprint) or texts.get(_key(visit.url))
        return None if text is None else await asyncio.to_thread(self._article, text, visit)

    def _pushed(self, visit: Visit) -> str | None:
        key = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
        return pushed_text(self._context.notes, key, visit.rule.domain, self._context.clock())

    async def _texts_of(self, feed: str, visit: Visit) -> _Texts:
        at, coming = self._feeds.get(feed, (0.0, None))
        if coming is None or time.monotonic() > at + _KEPT:
            coming = asyncio.ensure_future(self._fetch(feed, visit))
            self._feeds[feed] = time.monotonic(), coming
        # The other pages of the feed wait for the same request.
        texts = await asyncio.shield(coming)
        self._feeds.shrink(_MOST, lambda kept: _length(kept[1]))
        return texts

    async def _fetch(self, feed: str, visit: Visit) -> _Texts:
        request = Request(feed, callback=NO_CALLBACK, meta={RULE_KEY: visit.rule})
        try:
            response = await self._engine.download_async(request)
            if response.status != 200:
                return {}
            contents = await asyncio.to_thread(
                item_contents, response.body, response.url, content_type_of(response)
            )
        except Exception:  # noqa: BLE001  (after any failure of the feed, there is no text)
            return {}
        drop = visit.rule.drop_query
        return {fingerprint(canonicalize(url, drop)): text for url, text in contents.items()}

    def _article(self, text: str, visit: Visit) -> Article | None:
        title = escape(visit.data.get("title") or "")
        page = f"<!DOCTYPE html><title>{title}</title><article><h1>{title}</h1>{text}</article>"
        url = visit.url or visit.lease.entry.url
        try:
            article = read_page(
                page.encode(),
                url,
                rule=visit.rule,
                hint=visit.hint(),
                charset="utf-8",
                now=self._context.now(),
                vouched=True,
            )
        except NotAnArticle:
            return None
        article.extraction["text"] = FEED
        return article


def _length(coming: asyncio.Future[_Texts]) -> int:
    return sum(map(len, coming.result().values())) if coming.done() and not coming.cancelled() else 0


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))
