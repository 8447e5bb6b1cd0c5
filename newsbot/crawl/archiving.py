"""Passes what was fetched to an archive: redirects at once, pages after they were read.

A page may say ``noarchive`` in its markup, which is known only after the page was read. Such a page is not
archived. If the URL or canonical URL of a page was removed during the fetch, the page is not archived either.
An *exchange* is a request and its response.
"""

from __future__ import annotations

from scrapy.http import Response

from newsbot.crawl.context import Context
from newsbot.crawl.scope import Removals
from newsbot.crawl.visit import EXCHANGE_KEY, META_KEY, Visit
from newsbot.pages.rights import page_rights
from newsbot.sites.rights import headers_of
from newsbot.urls import canonicalize, fingerprint, host_key


async def keep_page(context: Context, removals: Removals, response: Response) -> None:
    """Archive a response that was read, unless its headers say ``noarchive`` or its page was removed."""
    request = response.request
    exchange = request.meta.pop(EXCHANGE_KEY, None) if request is not None else None
    if context.archive is None or exchange is None:
        return
    # This is checked after the download, because a page may be removed while it is fetched.
    if _was_taken_out(removals, response):
        context.count("archive/removed")
    elif page_rights(headers_of(response)).archive:
        await context.archive.keep(exchange)
    else:
        context.count("archive/noarchive")


def _was_taken_out(removals: Removals, response: Response) -> bool:
    visit: Visit | None = response.meta.get(META_KEY)
    canonical_url = "" if visit is None else visit.reading.canonical_url or ""
    drop = () if visit is None else visit.rule.drop_query
    urls = {canonicalize(url, drop) for url in (response.url, canonical_url) if url}
    return any(removals.covers(fingerprint(url), host_key(url)) for url in urls)
