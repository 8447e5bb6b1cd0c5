"""Joins articles of several pages. The further pages are fetched within the visit of the first page.

The result is one article. It is marked ``partial`` if one of the pages could not be read. The delay of the
host, robots.txt and the address guard apply to each page as to any request.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from w3lib.encoding import http_content_type_encoding

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of
from newsbot.crawl.links.canonical import alias_of
from newsbot.crawl.visit import RULE_KEY, Ending, Visit
from newsbot.errors import DataError, NotAnArticle
from newsbot.extraction import SiteMemory, join_pages, next_page, parse_html, read_page
from newsbot.extraction.fields.titles import same_title
from newsbot.extraction.pagination import MAX_PAGES
from newsbot.items import Article, Details, EventKind, Reason
from newsbot.middlewares.archive import keep_page
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.urls import canonicalize, fingerprint


class Paging:
    """Fetches the further pages of articles."""

    def __init__(self, crawl: Crawl, engine: ExecutionEngine) -> None:
        self._context, self._removals = crawl.context, crawl.removals
        self._lines, self._engine = crawl.sites.shared_lines, engine

    async def whole(self, visit: Visit, article: Article) -> Article | None:
        """Return the article joined with its further pages, at most :data:`MAX_PAGES` in all.

        ``article`` is the article of the first page. Returns None if the crawl ends in the meantime; the
        lease is then released and another crawl reads the article. Raises :class:`newsbot.errors.DataError`
        if a backend becomes unavailable.
        """
        pages = [article]
        seen = {_key(article.url)}  # the pages may link each other in a circle
        url = visit.next_page
        fault: str | None = None
        while url is not None and len(pages) < MAX_PAGES and _key(url) not in seen:
            if classify(visit.rule, url).denied:
                fault = Reason.DENIED.value
                break
            seen.add(_key(url))
            if self._context.outage.ending():
                visit.end(Ending.HELD)
                return None
            try:
                response = await _fetch(self._engine, url, visit.rule)
                memory = await self._context.calls.run(self._lines.of, visit.rule.domain)
                now = self._context.now()
                with self._context.timed("extract"):
                    page, url = await asyncio.to_thread(_read, response, visit, memory, now)
                if visit.rights.archive:
                    await keep_page(self._context, self._removals, response)
            except DataError:
                raise
            except Exception as error:  # noqa: BLE001  (after any failure, the pages read before are kept)
                fault = error.reason if isinstance(error, NotAnArticle) else cause_of(error)
                break
            if not same_title(article.title, page.title):
                break  # some sites use rel=next for the next article
            pages.append(page)
            # Links to this page need no visit: its text is part of the article.
            alias = alias_of(visit, page.url, _key(page.url), self._context.clock())
            await self._context.calls.run(self._context.frontier.mark_done, [alias], None)
            self._context.count("pages/joined")
        details: Details = {"pages": len(pages)}
        if fault:
            details["fault"] = fault
        visit.note(self._context.clock(), EventKind.PAGES_JOINED, **details)
        joined = join_pages(pages)
        return replace(joined, partial=True) if fault else joined


def _read(response: Response, visit: Visit, memory: SiteMemory, now: datetime) -> tuple[Article, str | None]:
    """Return the article of a further page, and the URL of the next page or None.

    The function may run in any thread.
    """
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    tree = parse_html(response.body, charset)
    page = read_page(
        response.body,
        response.url,
        rule=visit.rule,
        hint=visit.hint(),
        tree=tree,
        now=now,
        memory=memory,
        vouched=True,
    )
    return page, next_page(tree, response.url, visit.rule, now)


async def _fetch(engine: ExecutionEngine, url: str, rule: Rule) -> Response:
    response = await engine.download_async(Request(url, callback=NO_CALLBACK, meta={RULE_KEY: rule}))
    if response.status != 200:
        raise NotAnArticle(f"status_{response.status}")
    return response


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))
