"""Articles of several pages: the pages that follow are fetched within the visit of the first, and joined.

So there is one article, of all pages or (marked ``partial``) of those that came. Each further page waits
as long as the rule or robots.txt asks for, and the host rests for all workers meanwhile; robots.txt and the
guard of addresses judge each as any request.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from w3lib.encoding import http_content_type_encoding

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import cause_of
from newsbot.crawl.links.canonical import alias_of
from newsbot.crawl.visit import Ending, Visit
from newsbot.errors import DataError, NotAnArticle
from newsbot.extraction import join_pages, next_page, parse_html, read_page
from newsbot.extraction.fields.titles import same_title
from newsbot.extraction.pagination import MAX_PAGES
from newsbot.items import Article, Details, EventKind, Reason
from newsbot.middlewares.archive import keep_page
from newsbot.rules.match import classify
from newsbot.urls import canonicalize, fingerprint, host_key


class Paging:
    """Fetches the further pages of articles."""

    def __init__(self, crawl: Crawl, engine: ExecutionEngine) -> None:
        self._context, self._politeness, self._removals = crawl.context, crawl.politeness, crawl.removals
        self._lines, self._engine = crawl.sites.shared_lines, engine

    async def whole(self, visit: Visit, article: Article) -> Article | None:
        """Return the article with the pages that follow its first one, at most :data:`MAX_PAGES` in all.

        None if the crawl ends meanwhile: the visit is then handed back. Raises
        :class:`newsbot.errors.DataError` if the data go away.
        """
        pages = [article]
        seen = {_key(article.url)}
        url = visit.next_page
        fault: str | None = None
        while url is not None and len(pages) < MAX_PAGES and _key(url) not in seen:
            if classify(visit.rule, url).denied:
                fault = Reason.DENIED.value
                break
            seen.add(_key(url))
            if not await self._wait(url):
                visit.end(Ending.HELD)
                return None
            try:
                response = await _fetch(self._engine, url)
                page, url = self._read(response, visit)
                if visit.rights.archive:
                    await keep_page(self._context, self._removals, response)
            except DataError:
                raise
            except Exception as error:  # noqa: BLE001  (whatever keeps a page from us, the others are kept)
                fault = error.reason if isinstance(error, NotAnArticle) else cause_of(error)
                break
            if not same_title(article.title, page.title):
                break  # the next article, not the next page
            pages.append(page)
            self._context.frontier.mark_done(
                [alias_of(visit, page.url, _key(page.url), self._context.clock())], None
            )
            self._context.count("pages/joined")
        details: Details = {"pages": len(pages)}
        if fault:
            details["fault"] = fault
        visit.note(self._context.clock(), EventKind.PAGES_JOINED, **details)
        joined = join_pages(pages)
        return replace(joined, partial=True) if fault else joined

    async def _wait(self, url: str) -> bool:
        """Keep the host's pace; False when the crawl ends."""
        host = host_key(url)
        delay = self._politeness.delay_of(host)
        if delay > 0:
            self._politeness.rest(host, 2 * delay)
            await asyncio.sleep(delay)
        return not self._context.outage.ending()

    def _read(self, response: Response, visit: Visit) -> tuple[Article, str | None]:
        """Return the article of a further page, and the address of the page after it."""
        charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
        with self._context.timed("extract"):
            tree = parse_html(response.body, charset)
            page = read_page(
                response.body,
                response.url,
                rule=visit.rule,
                hint=visit.hint(),
                tree=tree,
                now=self._context.now(),
                memory=self._lines.of(visit.rule.domain),
            )
            return page, next_page(tree, response.url, visit.rule, self._context.now())


async def _fetch(engine: ExecutionEngine, url: str) -> Response:
    response = await engine.download_async(Request(url, callback=NO_CALLBACK))
    if response.status != 200:
        raise NotAnArticle(f"status_{response.status}")
    return response


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))
