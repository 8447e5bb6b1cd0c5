"""``scrapy crawl search``: searches the pages of sites for texts and stores where each text was found."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from lxml.html import HtmlElement
from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure
from w3lib.encoding import http_content_type_encoding

from newsbot.apps.monitor import side_spiders as auxiliary
from newsbot.apps.monitor.results import SearchResult, searches_of
from newsbot.apps.search.phrases import Finder, Places, Wanted
from newsbot.cli.program import PROGRAM
from newsbot.crawl.failures import NO_TLS, cause_of, cause_of_status
from newsbot.crawl.scope import Arguments, address, addresses, count, given_values, lines_of, words
from newsbot.crawl.visit import ASIDE_KEY
from newsbot.errors import ArgumentError, NotAnArticle
from newsbot.items import Link
from newsbot.middlewares import content_type_of, tree_of
from newsbot.pages.discovery.list_pages import find_links, trap
from newsbot.pages.extraction.visible import plain_lines, visible_text
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.codings import decode
from newsbot.recrawl.planning import may_retry
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_NAME = 100
"""Maximum number of characters of a search's name that are stored."""
MAX_PAGES = 10_000
"""Default of ``max_pages``, because a site may have endless pages."""
AT_ONCE = 500
"""Number of known pages that are read together."""

Follow = Literal["links", "known"]

HELP = {
    "sites": "domains of rule files, comma separated (default: all rules, if there is no url)",
    "url": "one address to begin with; the search stays on its site",
    "urls": "several addresses, comma or space separated",
    "text": "texts to find, separated by |: text=bridge|town hall",
    "texts_file": "a file with one text per line",
    "regex": "one regular expression to find: regex=\\d+ (dead|injured)",
    "regexes_file": "a file with one regular expression per line",
    "search": "the name of the results; default: the texts and expressions",
    "follow": "links (known pages, and the pages that they link to; the default) or known (known pages only)",
    "max_pages": f"maximum number of requested pages (default: {MAX_PAGES})",
}
"""The meaning of each argument. Error messages show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The arguments of one search."""

    name: str
    finder: Finder
    follow: Follow = "links"
    max_pages: int = MAX_PAGES
    scope: Arguments
    """The arguments that all spiders have. They name the sites."""


def parse_searching(given: Mapping[str, Any]) -> Searching:
    """Return the checked arguments. Raises :class:`ArgumentError`, whose message says what is allowed."""
    values = given_values(given, HELP)
    texts = [text.strip() for text in values.get("text", "").split("|")] if values.get("text") else []
    texts += lines_of("texts_file", values.get("texts_file"))
    regexes = [values["regex"]] if values.get("regex") else []
    regexes += lines_of("regexes_file", values.get("regexes_file"))
    wanted = [*(Wanted(text) for text in texts), *(Wanted(text, regex=True) for text in regexes)]
    if not wanted:
        raise ArgumentError(f"say what to find: text={HELP['text'].partition('text=')[2]}, or regex=…")
    try:
        finder = Finder(wanted)
    except ValueError as error:
        raise ArgumentError(f"text or regex: {error}") from error
    urls = [*addresses(values.get("url")), *addresses(values.get("urls"))]
    name = values.get("search") or " | ".join(one.text for one in wanted)
    return Searching(
        name=name[:MAX_NAME],
        finder=finder,
        follow=_follow(values.get("follow")),
        max_pages=count("max_pages", values.get("max_pages"), HELP) or MAX_PAGES,
        scope=Arguments(
            sites=tuple(word.lower() for word in words(values.get("sites"))),
            urls=tuple(address("url", url) for url in urls),
        ),
    )


def _follow(value: str | None) -> Follow:
    if value in (None, "", "links"):
        return "links"
    if value == "known":
        return "known"
    raise ArgumentError(f"follow={value}: invalid value; follow: {HELP['follow']}")


logger = logging.getLogger(__name__)

DEPTH = "depth_from_start"
"""Request meta key: number of clicks from a seed or known page to this page."""


class SearchSpider(auxiliary.SideSpider):
    """Searches pages. Its arguments are in :class:`Searching`.

    Wrong arguments raise ``ArgumentError``.
    """

    name = "search"

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name)
        self.search = parse_searching(arguments)
        self.arguments = self.search.scope
        self.max_pages = self.search.max_pages
        self.counted = {"pages": 0, "found_on": 0, "hits": 0, "errors": 0}

    @staticmethod
    def read_arguments(given: Mapping[str, Any], _now: datetime) -> Arguments:
        """Return the arguments that all spiders share. Raises ``ArgumentError`` if an argument is wrong."""
        return parse_searching(given).scope

    async def start(self) -> AsyncIterator[Any]:
        """Yield requests for the seeds, then for all known pages of the sites."""
        context = self.context
        domains = {rule.domain: rule for rule in self.crawl.scope.selected_rules()}
        for rule in domains.values():
            if self.search.follow == "links":
                for url in auxiliary.fronts(rule):
                    yield self._request(url, rule)
        for url in self.arguments.urls:
            rule = context.rule_for(url)
            domains.setdefault(rule.domain, rule)
            yield self._request(url, rule)
        for rule in domains.values():
            known = await context.calls.run(context.storage.pages.iter, site=rule.domain)
            while some := await context.calls.run(list, islice(known, AT_ONCE)):
                for page in some:
                    if page.kind not in ("feed", "sitemap") and page.state != "gone":
                        yield self._request(page.url, rule)

    def _request(self, url: str, rule: Rule, depth: int = 0) -> Request:
        return Request(
            url,
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"rule": rule},
            meta={DEPTH: depth},
            dont_filter=True,  # the scheduler itself drops URLs that were requested before
        )

    async def parse(self, response: Response, rule: Rule, **kwargs: Any) -> AsyncIterator[Any]:
        """Read one page: store where the texts were found, and yield requests for its links."""
        if response.status >= 300:
            for again in self._again(response.request, cause_of_status(response.status)):
                yield again
            return
        tree, text = await asyncio.to_thread(_read, response)
        if text is None:
            self.context.count("search/no_text")
            return
        # The search runs in a thread, because a regular expression may take up to its time limit on one page.
        found, whole = await asyncio.to_thread(self.search.finder.find, text)
        if not whole:
            self.context.count("search/cut_short")
            logger.warning("search cut short url=%s; the expressions took too long", response.url)
        await self._keep(response, rule, found)
        if tree is not None and self.search.follow == "links":
            links = await asyncio.to_thread(find_links, tree, response.url)
            for request in self._requests(links, response, rule):
                yield request

    async def _keep(self, response: Response, rule: Rule, found: Mapping[Wanted, Places]) -> None:
        context, url = self.context, canonicalize(response.url, rule.drop_query)
        if await context.calls.run(self.crawl.removals.covers, fingerprint(url), host_key(url)):
            return  # the page was removed while it was read
        results = [
            SearchResult(
                search=self.search.name,
                text=wanted.text,
                regex=wanted.regex,
                url=url,
                source=rule.domain,
                looked_at=context.clock(),
                positions=places.positions,
                hits=places.hits,
            )
            for wanted, places in found.items()
        ]
        await context.outage.patiently(searches_of(context.storage).save, results)
        hits = sum(places.hits for places in found.values())
        for name, amount in (("pages", 1), ("found_on", bool(hits)), ("hits", hits)):
            self.counted[name] += amount
            context.count(f"search/{name}", amount)

    def _requests(self, links: list[Link], response: Response, rule: Rule) -> Iterator[Request]:
        depth, now = response.meta[DEPTH] + 1, self.context.now()
        if depth > rule.max_depth:
            return
        for link, canonical in self.on_site(links, rule):
            if trap(canonical, now) is None:
                yield self._request(link.url, rule, depth)
            else:
                self.context.count("search/traps")

    def failed(self, failure: Failure) -> Iterator[Request]:
        """Try the page again if the error may be temporary, else count the error."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        assert failure.value is not None
        yield from self._again(request, cause_of(failure.value))

    def _again(self, request: Request | None, cause: str) -> Iterator[Request]:
        tries = 1 if request is None else int(request.meta[ASIDE_KEY]) + 1
        if request is not None and tries == 1 and cause in NO_TLS and request.url.startswith("https:"):
            # Many sites respond only to http or only to https.
            yield request.replace(url="http:" + request.url[6:], meta={**request.meta, ASIDE_KEY: tries})
            return
        if request is not None and tries < 3 and may_retry(cause, tries):
            yield request.replace(meta={**request.meta, ASIDE_KEY: tries})
            return
        self.counted["errors"] += 1
        self.context.count(f"errors/{cause}")

    def closed(self, reason: str) -> None:
        """Log the number of results, and the command that shows them."""
        counts = " ".join(f"{name}={amount}" for name, amount in self.counted.items())
        logger.info(
            "search ended reason=%s %s; see: %s searches show '%s'",
            *(reason, counts, PROGRAM, self.search.name),
        )


def _read(response: Response) -> tuple[HtmlElement | None, str | None]:
    """Return the page's tree and its visible text.

    The tree is None if the page is not HTML. The text is None if the page has no text.
    """
    content_type = content_type_of(response)
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/plain":
        return None, plain_lines(decode(response.body, http_content_type_encoding(content_type)))
    if kind and "html" not in kind:
        return None, None
    try:
        tree = tree_of(response)
    except NotAnArticle:  # the page is empty, or it is an image with an HTML content type
        return None, None
    return tree, visible_text(tree)
